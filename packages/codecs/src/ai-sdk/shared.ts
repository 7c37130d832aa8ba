/** Parts that exist in both formats of `ai` under different names, but not in the message model. */
import { isObject, type Json, type JsonObject } from 'indelible/internal/json'
import { mutableCopy, type MutableObject, urlOf } from 'indelible/internal/codecs'
import { readData } from './media.ts'

/** Whether it is a custom part or a reasoning file. */
export const isShared = (raw: Json): raw is JsonObject =>
  isObject(raw) && (raw['type'] === 'custom' || raw['type'] === 'reasoning-file')

export const asModelPart = ({ providerMetadata, url, ...rest }: JsonObject): MutableObject =>
  mutableCopy({
    ...rest,
    ...(url !== undefined && { data: url }),
    ...(providerMetadata !== undefined && { providerOptions: providerMetadata }),
  }) as MutableObject

export const asUiPart = ({ providerOptions, data, ...rest }: JsonObject): MutableObject => {
  const source = readData(data, typeof rest['mediaType'] === 'string' ? rest['mediaType'] : undefined)?.source
  const url = source === undefined || source.type === 'block' ? undefined : urlOf(source)
  return mutableCopy({
    ...rest,
    ...(url !== undefined && { url }),
    ...(providerOptions !== undefined && { providerMetadata: providerOptions }),
  }) as MutableObject
}
