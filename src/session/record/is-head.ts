/** Whether a value is a head, by its shape. */
import { isCount, isObject } from '../../json/index.ts'
import { isLeaf, type Head } from '../../store/internal.ts'

export const isHead = (value: unknown): value is Head =>
  isObject(value) && isCount(value['size']) && isLeaf(value['root'])
