/** The providers that programs call, and how a program finds a proxy in their place. */
import { vertexUrl, type Upstream } from '@indelible/recorder/internal/proxy'
import { Misuse, type Terminal } from '../terminal/command.ts'

/** For each provider: the URL of its API, and the variables that override it in programs. */
const providers: readonly (Upstream & { readonly variables: readonly string[] })[] = [
  { name: 'openai', url: 'https://api.openai.com/v1', variables: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'] },
  { name: 'anthropic', url: 'https://api.anthropic.com', variables: ['ANTHROPIC_BASE_URL', 'ANTHROPIC_API_URL'] },
  { name: 'gemini', url: 'https://generativelanguage.googleapis.com', variables: ['GOOGLE_GEMINI_BASE_URL'] },
  { name: 'vertex', url: 'https://aiplatform.googleapis.com', urlOf: vertexUrl, variables: ['GOOGLE_VERTEX_BASE_URL'] },
  // The API that Gemini CLI calls for users who log in with Google.
  { name: 'codeassist', url: 'https://cloudcode-pa.googleapis.com', variables: ['CODE_ASSIST_ENDPOINT'] },
]

/** The names of the providers, for help. */
export const providerNames: string = providers.map(({ name }) => name).join(', ')

/** Where the calls of each provider go: to the address of `--upstream`, to that of its variable, or to its own. */
export const upstreamsOf = (input: unknown, { env }: Terminal): readonly Upstream[] => {
  const named = new Map<string, string>()
  for (const text of (Array.isArray(input) ? input : []) as readonly string[]) {
    const [, name, url] = /^([a-z]+)=(https?:\/\/.+)$/.exec(text) ?? []
    if (
      name === undefined ||
      url === undefined ||
      !URL.canParse(url) ||
      !providers.some((known) => known.name === name)
    )
      throw new Misuse(`--upstream takes NAME=URL, where NAME is one of ${providerNames}; not "${text}"`)
    named.set(name, url)
  }
  return providers.map(({ name, url, urlOf, variables }) => {
    const address = named.get(name) ?? variables.map((variable) => env[variable]).find((value) => value)
    return address === undefined
      ? { name, url, ...(urlOf !== undefined && { urlOf }) }
      : { name, url: address.replace(/\/+$/, '') }
  })
}

/** An address for programs, by the provider's name. */
interface Addresses {
  readonly urlOf: (name: string) => string
}

/** The environment in which a program finds the proxy. */
export const environment = (proxy: Addresses, { env }: Terminal): { readonly [name: string]: string | undefined } => ({
  ...env,
  ...Object.fromEntries(
    providers.flatMap(({ name, variables }) => variables.map((variable) => [variable, proxy.urlOf(name)])),
  ),
  // The proxy itself is reached directly.
  NO_PROXY: [env['NO_PROXY'] ?? env['no_proxy'], '127.0.0.1', 'localhost'].filter(Boolean).join(','),
})

/** The arguments, with each `{VARIABLE}` replaced by its address: for programs that read no variables. */
export const fillAddresses = (args: readonly string[], proxy: Addresses): readonly string[] =>
  providers.reduce(
    (all, { name, variables }) =>
      variables.reduce((some, variable) => some.map((arg) => arg.replaceAll(`{${variable}}`, proxy.urlOf(name))), all),
    args,
  )
