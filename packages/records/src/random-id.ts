/** Default ids. */

/** A random UUID if the platform has them (Node, Deno, Bun, browsers on https); else 16 random hexadecimal digits. */
export const randomId = (): string => {
  const { crypto } = globalThis as { readonly crypto?: { readonly randomUUID?: () => string } }
  return (
    crypto?.randomUUID?.() ?? Array.from({ length: 16 }, () => Math.floor(Math.random() * 16).toString(16)).join('')
  )
}
