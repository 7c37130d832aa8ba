/** A program that talks to a provider, as an agent does: it finds it by the environment, and knows nothing of a recorder. */
const base = process.env['OPENAI_BASE_URL'] as string
const messages: unknown[] = []
for (const question of process.argv.slice(2)) {
  messages.push({ role: 'user', content: question })
  const response = await fetch(`${base}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer secret-key' },
    body: JSON.stringify({ model: 'gpt-x', messages }),
  })
  if (!response.ok) process.exit(9)
  const { choices } = (await response.json()) as { readonly choices: readonly { readonly message: unknown }[] }
  messages.push(choices[0]?.message)
}
process.stdout.write(`${JSON.stringify(messages.at(-1))}\n`)
process.exit(Number(process.env['EXIT'] ?? 0))
