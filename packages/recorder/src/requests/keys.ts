/** Request fields and parts of URLs that hold a key: their values are never recorded. */
import {
  isLeft,
  isObject,
  isTooDeep,
  ownFields,
  parseJson,
  textOfBase64,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import { createRedactor } from 'indelible/redact'

/**
 * A value without keys: of fields that are named like one, of headers and environments, in URLs, and of the formats that
 * `secretRules` knows, at any depth. A schema of such a field is kept, without its default and examples.
 */
export const withoutKeys = <T extends Json>(value: T): T => formats.json(cleaned(value)) as T

const formats = createRedactor()

/** The text that replaces a key. */
const keyPlaceholder = '[a key, not recorded]'

const cleaned = (value: Json): Json => {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map(cleanItem)
  return isObject(value) ? cleanFields(value as JsonObject) : value
}

/** An item of a list: after an argument such as `--api-key`, or as a pair of a name and a value, it may be a key. */
const cleanItem = (item: Json, index: number, list: readonly Json[]): Json => {
  const before = list[index - 1]
  if (typeof item === 'string' && typeof before === 'string' && /^--?\w/.test(before) && !item.startsWith('-'))
    return isKeyName(before) ? hidden(item) : cleaned(item)
  if (!Array.isArray(item) || item.length !== 2) return cleaned(item)
  const [name, value] = item as unknown as readonly [Json, Json]
  return typeof name === 'string' && isKeyName(name) ? [name, hidden(value)] : cleaned(item)
}

const cleanFields = (fields: JsonObject): JsonObject => {
  const own = ownFields(fields)
  const isPair = pairNames.some((name) => typeof own[name] === 'string' && isKeyName(own[name]))
  return mapFields(fields, (value, name) => {
    if (propertyFields.has(name) && isObject(value)) return mapFields(value as JsonObject, cleanProperty)
    if (isHeaders(name) && (typeof value === 'object' || name !== 'header')) return withoutTexts(value)
    if (isEnvironment(name) && isObject(value)) return withoutTexts(value as JsonObject)
    return isKeyName(name) || (isPair && pairValues.has(name)) ? hidden(value) : cleaned(value)
  })
}

/** Fields with the name of a pair, and fields with its value. */
const pairNames: readonly string[] = [
  ...[
    'name',
    'key',
    'header',
    'field',
    'parameter',
    'param',
    'property',
    'variable',
    'env',
    'option',
    'k',
    'id',
    'label',
  ],
]
const pairValues: ReadonlySet<string> = new Set([
  ...['value', 'values', 'content', 'contents', 'data', 'text', 'string', 'default', 'argument', 'example', 'v', 'val'],
  ...['raw', 'body', 'stringValue', 'string_value', 'plaintext', 'current', 'token', 'secret'],
])

/** A property of a JSON schema: its name says what a value would be, and its schema has none but examples. */
const cleanProperty = (schema: Json, name: string): Json => {
  if (!isKeyName(name)) return cleaned(schema)
  if (!isObject(schema) || !Object.keys(schema).some((field) => schemaFields.has(field))) return hidden(schema)
  return mapFields(schema as JsonObject, (value, field) =>
    field === 'properties' && isObject(value)
      ? mapFields(value as JsonObject, cleanProperty)
      : exampleFields.has(field)
        ? hidden(value)
        : cleaned(value),
  )
}

const propertyFields: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
const schemaFields: ReadonlySet<string> = new Set([
  ...['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'enum', 'const', 'description', 'properties', 'items', 'format'],
])
const exampleFields: ReadonlySet<string> = new Set(['default', 'example', 'examples', 'const', 'enum'])

const mapFields = (fields: JsonObject, change: (value: Json, name: string) => Json): JsonObject =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, change(value, name)]))

/** A key in any form. What is on or off, or nothing, is none. */
const hidden = (value: Json): Json => (value === null || typeof value === 'boolean' ? value : keyPlaceholder)

const withoutTexts = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(withoutTexts)
  return isObject(value) ? mapFields(value as JsonObject, withoutTexts) : hidden(value)
}

const isHeaders = (name: string): boolean => /(?:^|_)(?:headers|cookies|cookie_jar)$|^header$/.test(plainName(name))

const isEnvironment = (name: string): boolean =>
  /^(?:env|environment|env_vars|environment_variables)$/.test(plainName(name))

/** Names of keys, as the whole name or after other words: `X-Api-Key`, `awsSecretAccessKey`, `db_password`. */
const keyNames: readonly string[] = [
  ...['authorization', 'auth', 'authentication', 'bearer', 'jwt', 'cookie', 'set_cookie', 'credentials?', 'creds'],
  ...['passwords?', 'passwd', 'pwd', 'passphrase', 'secrets?', 'token', '(?:access|auth|api|bearer|session)_tokens'],
  ...['oauth', 'auth_header', 'pat', 'pass', 'passcode', 'passkey', 'pw', 'psk', 'userpass', 'passwort', 'kennwort'],
  ...[
    'mot_de_passe',
    'contrasen?_?a',
    'senha',
    'otp',
    'totp',
    'pin_code',
    'one_time_(?:code|password)',
    '(?:mfa|otp|2fa)_code',
  ],
  ...[
    'verification_code',
    'recovery_codes?',
    'mnemonic',
    'seed_phrase',
    'recovery_phrase',
    'hmac',
    'hmac_key',
    'signature',
  ],
  ...[
    'hub_signature_256',
    'sig',
    'csrf',
    'xsrf',
    'sid',
    'phpsessid',
    'jsessionid',
    'client_key',
    'key_pem',
    'pem',
    'pfx',
  ],
  ...['pkcs12', 'key_?file', 'application_credentials', 'secret_key_base', 'appsecret', 'webhook_url', 'tls_key'],
  ...['api_?keys?', 'apikeys?', 'client_secret', 'connection_?string', 'sas', 'private_key_id', 'access_key_id'],
  '(?:access|secret|private|auth|account|subscription|license|encryption|signing|service|master|admin|shared|storage|session|deploy|consumer|ssh|functions)_?keys?',
  '(?:openai|anthropic|azure|google|gemini|mistral|openrouter|groq|xai|deepseek|cohere|stripe)_?keys?',
]

/** What may follow the name of a key: `api_key_2`, `tokenValue`, `client_key_data`. */
const ending =
  '(?:_?\\d{1,3}|_(?:value|data|text|string|raw|base64|b64|json|pem|hash|proof|confirmation|current|new|old))*'

const keyName = new RegExp(`^(?:.{1,60}_)?(?:${keyNames.join('|')})${ending}$`)

/** Tokens of a text or of a list, and keys that are no secret. */
const otherName =
  /(?:^|_)(?:bos|eos|pad|unk|sep|cls|mask|stop|start|end|next|page|prev|max|min|first|last|special)_token$|(?:^|_)public_key$/

const isKeyName = (name: string): boolean => {
  const plain = plainName(name)
  return keyName.test(plain) && !otherName.test(plain)
}

/** A name in lower case with underscores, decoded: `X%2DApi-Key` and `apiKey` as `x_api_key` and `api_key`. */
const plainName = (name: string): string =>
  decoded(name.slice(0, 200))
    .normalize('NFKC')
    .trim()
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, '_')
    .replaceAll(/^_|_$/g, '')

/** A text with its percent escapes decoded, also if they were encoded several times. */
const decoded = (text: string): string => {
  let last = text
  for (let layer = 0; layer < 4 && last.includes('%'); layer++)
    try {
      const next = decodeURIComponent(last)
      if (next === last) break
      last = next
    } catch {
      break
    }
  return last
}

const cleanText = (text: string): string => {
  if (wholeKey.test(text) || isEncodedKey(text)) return keyPlaceholder
  if (/^\s*[{[]/.test(text)) {
    const parsed = parseJson(text)
    if (!isLeft(parsed)) {
      if (isTooDeep(parsed.right)) return keyPlaceholder // keys in it could not be found
      const clean = JSON.stringify(cleaned(parsed.right as Json))
      return clean === JSON.stringify(parsed.right) ? text : clean
    }
  }
  if (/^\s*[\w%.~-]{1,100}=\S*\s*$/.test(text)) return cleanPairs(`?${text}`).slice(1)
  return text
    .replaceAll(/(?:[a-z][a-z\d+.-]{0,30}:)?\/\/[^\s"'<>`]+/gi, cleanUrl)
    .replaceAll(/\b(bearer|basic) (?=[a-z._~+/=-]{0,200}\d)[\w.~+/=-]{12,}/gi, `$1 ${keyPlaceholder}`)
    .replaceAll(/(?<![\w?&#/=-])([\w-]{1,60})=[^\s;,"'<>[\]{}()]{6,}/g, cleanSetting)
}

/** The value of a header that authorizes. */
const wholeKey = /^\s*(?:(?:bearer|basic)\s+\S+|(?:token|api-?key|digest|negotiate)\s+(?=\S{0,200}\d)\S{12,})\s*$/i

/** Whether a text is the base64 of JSON with a key. */
const isEncodedKey = (text: string): boolean => {
  const inside = /^(?:eyJ|ewo|W3s)[\w+/-]{12,}={0,2}$/.test(text) ? textOfBase64(text) : undefined
  return inside !== undefined && withoutKeys(inside) !== inside
}

/** A setting in a text, such as that of a connection: `host=h password=p`. */
const cleanSetting = (setting: string, name: string): string =>
  isKeyName(name) ? `${name}=${keyPlaceholder}` : setting

/** A URL without its password and without the keys in its query and its fragment. */
const cleanUrl = (url: string): string => {
  const [, scheme = '', rest = ''] = /^([^/]*\/\/)(.*)$/s.exec(url) ?? []
  const end = rest.search(/[/?#]/)
  const authority = end === -1 ? rest : rest.slice(0, end)
  // A password may have a slash or a sign of a query, too: then what comes after the colon is no port.
  const isOpen = !authority.includes('@') && /:(?!\d*$)/.test(authority) && !authority.startsWith('[')
  const at = isOpen ? rest.lastIndexOf('@') : authority.lastIndexOf('@')
  return at === -1 ? scheme + cleanPairs(rest) : `${scheme}${keyPlaceholder}@${cleanPairs(rest.slice(at + 1))}`
}

/** A query or a fragment without the values of keys, also in a URL that is a value. */
const cleanPairs = (text: string): string =>
  text.replaceAll(
    /([?&#;])([^=&#?;]{1,200})=((?:[^&#;]|;(?![^=&#;?]{1,200}=))*)/g,
    (pair, sign: string, name: string, value: string) => {
      const plain = plainName(name)
      if (value !== '' && (isKeyName(name) || urlKeys.has(plain))) return `${sign}${name}=${keyPlaceholder}`
      const inner = decoded(value)
      const clean = inner === value ? value : cleanText(inner)
      return clean === inner || clean === value ? pair : `${sign}${name}=${encodeURIComponent(clean)}`
    },
  )

const urlKeys: ReadonlySet<string> = new Set(['key', 'sig', 'signature', 'x_amz_signature', 'x_goog_signature', 'code'])
