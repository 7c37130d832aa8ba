/** The option `--policy`: a context policy by its name. */
import { Misuse } from '../terminal/command.ts'

/** The policy with a name. Throws Misuse. */
export const policyOf = <P extends { readonly name: string }>(name: string, among: readonly P[]): P => {
  const found = among.find((policy) => policy.name === name)
  if (found === undefined)
    throw new Misuse(
      `--policy: there is no policy "${name}"; expected ${among.map((policy) => policy.name).join(', ')}`,
    )
  return found
}
