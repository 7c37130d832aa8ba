/** Parts that exist in both formats of `ai` under different names, but not in the message model. */
import { isObject, type Json, type JsonObject } from '../../json/index.ts'
import { thaw, type Fresh } from '../residual.ts'
import { urlOf } from '../source.ts'
import { readData } from './media.ts'

/** Whether it is a custom part or a reasoning file. */
export const isShared = (raw: Json): raw is JsonObject =>
  isObject(raw) && (raw['type'] === 'custom' || raw['type'] === 'reasoning-file')

export const asModelPart = ({ providerMetadata, url, ...rest }: JsonObject): Fresh =>
  thaw({
    ...rest,
    ...(url !== undefined && { data: url }),
    ...(providerMetadata !== undefined && { providerOptions: providerMetadata }),
  }) as Fresh

export const asUiPart = ({ providerOptions, data, ...rest }: JsonObject): Fresh => {
  const source = readData(data, typeof rest['mediaType'] === 'string' ? rest['mediaType'] : undefined)?.source
  const url = source === undefined || source.type === 'block' ? undefined : urlOf(source)
  return thaw({
    ...rest,
    ...(url !== undefined && { url }),
    ...(providerOptions !== undefined && { providerMetadata: providerOptions }),
  }) as Fresh
}
