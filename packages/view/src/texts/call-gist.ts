/** A tool call's arguments in a line. */
import { isObject, jsonIn } from 'indelible/internal/json'
import { oneLine } from './format-text.ts'

/** The arguments of common tools that say most about a call, the most telling first. */
const mainFields = [
  'command',
  'cmd',
  'file_path',
  'filePath',
  'path',
  'file',
  'pattern',
  'query',
  'url',
  'description',
  'prompt',
  'name',
  'input',
]

/** The most characters of such a line. */
const mostLetters = 160

/** The argument that says most about a call; without a known one, all of them. */
export const callGist = (text: string): string => {
  const value = jsonIn(text)
  if (!isObject(value)) return oneLine(text, mostLetters)
  for (const name of mainFields) {
    const field = value[name]
    if (typeof field === 'string' && field !== '') return oneLine(field, mostLetters)
    if (Array.isArray(field) && field.every((item) => typeof item === 'string'))
      return oneLine(field.join(' '), mostLetters)
  }
  return oneLine(JSON.stringify(value).slice(1, -1), mostLetters)
}
