/** A key-value store that is a map: the smallest there is. */
import type { KeyValueStore } from 'indelible/store'

export const keyValueMap = (map: Map<string, Uint8Array> = new Map()): Required<KeyValueStore> => ({
  mget: async (keys) => keys.map((key) => map.get(key)?.slice()),
  mset: async (entries) => {
    for (const [key, value] of entries) map.set(key, value.slice())
  },
  putIfAbsent: async (key, value) => !map.has(key) && map.set(key, value.slice()) !== undefined,
  keys: (prefix) => [...map.keys()].filter((key) => key.startsWith(prefix)),
  deletePrefix: async (prefix) => {
    for (const key of map.keys()) if (key.startsWith(prefix)) map.delete(key)
  },
})
