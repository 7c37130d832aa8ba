import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createHistory,
  createSession,
  forkSession,
  memoryStore,
  openSession,
  reasoning,
  text,
  toolCall,
  toolResult,
  user,
  type Message,
} from 'indelible'
import { provider } from 'indelible/message'
import type { Note } from '../../src/notes/internal.ts'
import { createRedactor, secretRules } from 'indelible/redact'
import { historyHandler, sessionHandler, type RunEvent } from 'indelible/run'
import { readTranscript, importTranscript } from '@indelible/transcripts'
import { recordingFetch } from '@indelible/recorder'
import { ok } from '../task-results.ts'
import { indelible, writeTestFile } from '../../packages/cli/test/indelible.ts'
import { providerServer } from '../run/provider-server.ts'
import { Outputs } from '../outputs.ts'
import { pending } from '../../src/session/index.ts'

const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG3hJ5kL7nP9rS1tV3xY5'
const filled = (length: number, of: string = letters): string =>
  of.repeat(Math.ceil(length / of.length)).slice(0, length)
const hex = (length: number): string => filled(length, '0123456789abcdef')
const pem = (kind: string): string =>
  [`-----BEGIN ${kind}-----`, filled(64), filled(64), `-----END ${kind}-----`].join('\n')

/** One secret for each rule, put together here so that no file has one in its text; the last is what is around it. */
/** What ends a value that begins after this text: its quote, the next element, or a space. */
const closing = (before: string): string => /["']$/.exec(before)?.[0] ?? (before.endsWith('>') ? '</' : ' ')

const samples: readonly (readonly [rule: string, secret: string, before?: string, after?: string])[] = [
  ['private-key', pem('RSA PRIVATE KEY')],
  ['private-key', pem('OPENSSH PRIVATE KEY').replaceAll('\n', '\\n')],
  ['private-key', pem('PRIVATE KEY').split('-----END')[0] as string, '', '…'],
  ['anthropic-key', `sk-ant-api03-${filled(93)}AA`],
  ['openrouter-key', `sk-or-v1-${hex(64)}`],
  ['openai-key', `sk-proj-${filled(74)}T3BlbkFJ${filled(74)}`],
  ['openai-key', `sk-${filled(20)}T3BlbkFJ${filled(20)}`],
  ['openai-key', `sk-${hex(32)}`],
  ...[20, 21, 47].map((length) => ['openai-key', `sk-${filled(length - 1)}7`, 'KEY=', ' '] as const),
  ['openai-key', `sk-${filled(24)}7`, 'KEY=', ' '],
  ['google-key', `AIza${filled(35)}`],
  ['google-oauth', `GOCSPX-${filled(28)}`],
  ['google-oauth', `ya29.${filled(60)}`],
  ['aws-access-key-id', `AKIA${filled(16, 'ABCDEFGHJKMNPQRS')}`],
  ['aws-secret-access-key', filled(40), 'AWS_SECRET_ACCESS_KEY="', '"'],
  ['aws-secret-access-key', filled(40), '"SecretAccessKey": "', '"'],
  ['azure-storage-key', `${filled(86)}==`, 'AccountName=a;AccountKey=', ';'],
  ['github-token', `ghp_${filled(36)}`],
  ['github-token', `github_pat_${filled(22)}_${filled(59)}`],
  ['gitlab-token', `glpat-${filled(20)}`],
  ['npm-token', `npm_${filled(36)}`],
  ['npm-token', hex(36), '//registry.example/:_authToken='],
  ['pypi-token', `pypi-AgEIcHlwaS5vcmc${filled(100)}`],
  ['rubygems-key', `rubygems_${hex(48)}`],
  ['docker-token', `dckr_pat_${filled(27)}`],
  ['huggingface-token', `hf_${filled(34)}`],
  ['groq-key', `gsk_${filled(52)}`],
  ['xai-key', `xai-${filled(80)}`],
  ['perplexity-key', `pplx-${filled(48)}`],
  ['replicate-token', `r8_${filled(37)}`],
  ['slack-token', `xoxb-123456789012-${filled(24)}`],
  ['slack-webhook', `T00000000/B00000000/${filled(24)}`, 'https://hooks.slack.com/services/'],
  ['stripe-key', `sk_live_${filled(24)}`],
  ['stripe-key', `whsec_${filled(32)}`],
  ['sendgrid-key', `SG.${filled(22)}.${filled(43)}`],
  ['shopify-token', `shpat_${hex(32)}`],
  ['digitalocean-token', `dop_v1_${hex(64)}`],
  ['databricks-token', `dapi${hex(32)}`],
  ['vault-token', `hvs.${filled(90)}`],
  ['linear-key', `lin_api_${filled(40)}`],
  ['notion-token', `ntn_${filled(46)}`],
  ['telegram-token', `123456789:AA${filled(33)}`],
  ['age-key', `AGE-SECRET-KEY-1${filled(58, 'QPZRY9X8GF2TVDW0')}`],
  ['supabase-key', `sbp_${hex(40)}`],
  ['supabase-key', `sb_secret_${filled(22)}_${filled(8)}`],
  ['atlassian-token', `ATATT3xFfGF0${filled(180)}`],
  ['figma-token', `figd_${filled(40)}`],
  ['doppler-token', `dp.st.prd.${filled(43)}`],
  ['doppler-token', `dp.pt.${filled(43)}`],
  ['postman-key', `PMAK-${hex(24)}-${hex(34)}`],
  ['pinecone-key', `pcsk_${filled(6)}_${filled(63)}`],
  ['langsmith-key', `lsv2_pt_${hex(32)}_${hex(10)}`],
  ['langfuse-key', `sk-lf-${hex(8)}-${hex(4)}-${hex(12)}`],
  ['nvidia-key', `nvapi-${filled(64)}`],
  ['tavily-key', `tvly-dev-${filled(32)}`],
  ['firecrawl-key', `fc-${hex(32)}`],
  ['vercel-token', `vcp_${filled(56)}`],
  ['vercel-token', `vercel_blob_rw_${filled(16)}_${filled(30)}`],
  ['cloudflare-token', `cfut_${filled(40)}${hex(8)}`],
  ['cloudflare-token', `v1.0-${hex(24)}-${hex(146)}`],
  ['discord-token', `M${filled(25)}.${filled(6)}.${filled(38)}`, ' ', ' '],
  ['discord-webhook', filled(68), 'https://discord.com/api/webhooks/123456789012345678/'],
  ['onepassword-token', `ops_eyJ${filled(250)}`],
  ['airtable-token', `pat${filled(14)}.${hex(64)}`],
  ['alibaba-key', `LTAI${filled(20)}`],
  ['artifactory-token', `AKCp${filled(69)}`],
  ['bedrock-key', `ABSK${filled(112)}`],
  ['azure-client-secret', `abc8Q~${filled(34)}`, ' ', ' '],
  ['clojars-token', `CLOJARS_${filled(60)}`],
  ['dynatrace-token', `dt0c01.${filled(24, 'ABCDEFGH234567')}.${filled(64, 'ABCDEFGH234567')}`],
  ['fly-token', `fo1_${filled(43)}`],
  ['grafana-token', `glsa_${filled(32)}_${hex(8)}`],
  ['terraform-token', `${filled(14)}.atlasv1.${filled(67)}`],
  ['heroku-key', `HRKU-AA${filled(58)}`],
  ['huggingface-token', `api_org_${filled(34, 'abcdEFGH')}`],
  ['newrelic-key', `NRAK-${filled(27)}`],
  ['netlify-token', `nfp_${filled(36)}`],
  ['neon-key', `napi_${filled(64)}`],
  ['planetscale-token', `pscale_tkn_${filled(43)}`],
  ['posthog-key', `phx_${filled(43)}`],
  ['prefect-key', `pnu_${filled(36)}`],
  ['pulumi-token', `pul-${hex(40)}`],
  ['brevo-key', `xkeysib-${hex(64)}-${filled(16)}`],
  ['resend-key', `re_${filled(8)}_${filled(24)}`],
  ['sentry-token', `sntryu_${hex(64)}`],
  ['sonar-token', `squ_${hex(40)}`],
  ['sourcegraph-token', `sgp_${hex(16)}_${hex(40)}`],
  ['square-token', `sq0atp-${filled(22)}`],
  ['cerebras-key', `csk-${filled(48)}`],
  ['together-key', `tgp_v1_${filled(43)}`],
  ['fireworks-key', `fw_${filled(24)}`],
  ['jina-key', `jina_${filled(60)}`],
  ['elevenlabs-key', `sk_${hex(48)}`],
  ['e2b-key', `e2b_${hex(40)}`],
  ['apify-token', `apify_api_${filled(36)}`],
  ['circleci-token', `CCIPAT_${filled(22)}_${hex(40)}`],
  ['buildkite-token', `bkua_${filled(40)}`],
  ['typeform-token', `tfp_${filled(44)}`],
  ['twilio-key', `SK${hex(32)}`],
  ['mailgun-key', `key-${hex(32)}`],
  ['mailchimp-key', `${hex(32)}-us12`],
  ...[
    'ACME_TOKEN',
    'export A1_SECRET',
    'DB_PASSWORD',
    'PGPASSWORD',
    'SERVICE_API_KEY',
    '-e TOKEN',
    '--env X_CLIENT_SECRET',
  ].map((name) => ['named-secret', 'tr0ub4dor&3'.replace('&', '+'), `${name}=`, ' '] as const),
  ['named-secret', 'correct horse battery', "ACME_PASSWORD='", "'"],
  ['named-secret', 'tr0ub4dor+3', 'ACME_TOKEN: ', ' '],
  ...['DB_PASS', 'MYSQL_PWD', 'APP_KEY', 'MASTER_KEY'].map(
    (name) => ['named-secret', 'tr0ub4dor', `${name}=`, ' '] as const,
  ),
  ...[
    ...[
      "define('DB_PASSWORD', '",
      'os.environ["API_KEY"] = "',
      "{ :password => '",
      'password := "',
      '"password":\n  "',
    ],
    ...['<password>', '<add key="DbPassword" value="', '{"name":"DB_PASSWORD","value":"', '- name: API_KEY\n  value: '],
    ...[
      'const apiKey: string = "',
      'let api_key: &str = "',
      'password: |\n  ',
      '<apiKey type="x">',
      '<password><![CDATA[',
    ],
    ...['my password is ', 'x-goog-api-key: ', 'Ocp-Apim-Subscription-Key: ', 'X-Vault-Token: ', 'password:\n  '],
  ].map((name) => ['named-secret', 'tr0ub4dor+3', name, closing(name)] as const),
  ...[
    ...[
      'token = "',
      '"token": "',
      'secret: ',
      "'secret' => '",
      '"auth": "',
      'DB_AUTH ',
      'ENV ACME_TOKEN ',
      'Authorization: ',
    ],
    ...['{"secret":"', 'pass: ', 'sessionToken: "', '_auth='],
  ].map((name) => ['named-secret', '9fK2mQ7xLw4ZbT8vRc6NyH', name, closing(name)] as const),
  ['signing-key', `PRIVATE+KEY+example.com/log+${hex(8)}+${filled(44)}`],
  ['jwt', `eyJ${filled(20)}.eyJ${filled(40)}.${filled(43)}`],
  ['bearer-token', filled(40), 'authorization: Bearer '],
  ['authorization', 'dXNlcjpwYXNzd29yZA==', 'Authorization: Basic '],
  ['authorization', filled(30), '"Authorization": "token ', '"'],
  ['cookie', `sid=${filled(30)}`, "-H 'Cookie: ", "'"],
  ['cookie', `sid=${filled(30)}`, '{"name":"Cookie","value":"', '"}'],
  ['cookie', `sid=${filled(30)}; Path=/; HttpOnly`, 'Set-Cookie: ', '\n'],
  ...['sig', 'X-Goog-Signature', 'X-Amz-Security-Token', 'access_token', 'api_key'].map(
    (name) => ['url-signature', `${filled(30)}%3D`, `https://h.example/a?b=c&${name}=`, '&d=e'] as const,
  ),
  [
    'aws-signature',
    hex(64),
    'AWS4-HMAC-SHA256 Credential=me/20261101/r/s3/aws4_request, SignedHeaders=host, Signature=',
  ],
  ['azure-storage-key', `${filled(43)}=`, 'Endpoint=sb://h.example/;SharedAccessKeyName=Root;SharedAccessKey='],
  ...['password: ', 'x-api-key: ', '"access_token": "', "api_key = '", 'clientSecret: `', 'apiKey="'].map(
    (name) => ['named-secret', 'tr0ub4dor+3', name, /["'`]$/.exec(name)?.[0] ?? ' '] as const,
  ),
  ...['{"DB_PASSWORD":"', "apiKey = '", "passwd: '"].map(
    (name) => ['named-secret', 'Sup3r,(S;<{cretPw', name, closing(name)] as const,
  ),
  ['named-secret', 'Tr0ub4dor&amp;3xyz', '<password>', '</password>'],
  ['named-secret', 's3cr3tPa55word', 'password=', '&next=/home'],
  ['named-secret', 's3cr3tPa55word', 'password=', ', user=bob'],
  ['connection-password', 'hunter!', 'grant_type=password&password=', '&scope=a'],
  ['connection-password', 'hunter!', 'Server=tcp:h,1433;User ID=ada;Password=', ';Encrypt=True'],
  ['netrc-password', 'hunter!', 'machine h.example login ada password ', ' '],
  ...['tool --password ', 'tool --api-key=', 'tool --db-password "'].map(
    (command) => ['argument', 'tr0ub4dor+3', command, command.endsWith('"') ? '"' : ' '] as const,
  ),
  ['argument', 'hunter!', 'curl -s -u ada:', ' https://h.example'],
  ['argument', 'hunter!', 'mysql -u root -p', ' app'],
  ['argument', 'hunter!', 'docker login -u ada -p ', ' h.example'],
  ['url-password', 'hunter2!', 'postgres://ada:', '@db.example/app'],
]

const secret = `ghp_${filled(36)}`
const mark = '[redacted github-token, 40 characters]'

describe('secret formats', () => {
  it.each(samples)('%s is found in a line, in JSON and alone', (rule, value = '', before = '', after = '') => {
    const redactor = createRedactor()
    const clean = `[redacted ${rule}, ${value.length} characters]`
    expect(redactor.text(`${before}${value}${after}`)).toBe(`${before}${clean}${after}`)
    expect(redactor.text(`x = ${before}${value}${after} and more`)).toBe(`x = ${before}${clean}${after} and more`)
    const json = redactor.text(JSON.stringify({ a: [{ b: `say ${before}${value}${after}` }], n: 1.5 }))
    expect(JSON.parse(json)).toEqual({ a: [{ b: `say ${before}${clean}${after}` }], n: 1.5 })
    expect([...redactor.counts()]).toEqual([[rule, 3]])
  })
  it('each rule has a sample', () => {
    expect([...new Set(samples.map(([rule]) => rule))].toSorted()).toEqual(
      [...new Set(secretRules.map(({ name }) => name))].toSorted(),
    )
  })
  it('formats as rules of your own hold back no text: keys have no spaces', () => {
    for (const rule of secretRules)
      expect(createRedactor({ rules: [rule], secrets: false }).ready('some words ')).toBe('some words '.length)
    expect(createRedactor({ rules: [{ name: 'own', pattern: /a b/ }] }).ready('some words ')).toBe(0)
  })
  it('leaves other text unchanged', () => {
    const redactor = createRedactor()
    for (const harmless of [
      'Use sk- or ghp_ as a prefix. AKIA is how they begin.',
      'commit 3f786850e387550fdab836ed7e6dc881de23001b',
      '4f9f0a1e-7a0c-4a53-9a83-9a0f5a9e2f11',
      'const task-management = risk-assessment-of-the-following-items-in-the-list',
      'risk-admin-0123456789abcdefghijklmn and risk-admin-Aa0123456789abcdefghijklmn',
      'https://example.com:8080/path?x=1@2 and mailto:ada@example.com',
      'postgres://localhost:5432/app',
      ...['${PASSWORD}', '${PASSWORD:-none}', '$(PASSWORD)', '$PASSWORD', '{{password}}', '{password}'].map(
        (template) => `postgres://app:${template}@db/app`,
      ),
      'postgres://<user>:<password>@db/app and postgres://[user]:[password]@db/app',
      'Authorization: Bearer <token>',
      '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
      '{"access_key_id": "the id"}',
      'MAX_TOKEN=4096, ACME_TOKEN=$ACME_TOKEN, ACME_TOKEN=${ACME_TOKEN:-none}, ACME_SECRET=<secret>, API_KEY=your-key-here',
      'const API_KEY: string = process.env.API_KEY; API_KEY=getenv("API_KEY"); OPENAI_API_KEY=sk-...; NEXT_TOKEN: none',
      '{"API_KEY": "The key of the service", "DB_PASSWORD": "string"}',
      'password: string, "password": "The password", --password PASSWORD, --token <token>, api_key: str = None',
      'curl -u $NAME:$PASSWORD https://h.example',
      'secretKey: Uint8Array, apiKey: base64url; accessToken: OAuth2AccessToken, password: argon2id, passwd:x:1000:1000',
      'secret_key = nacl.utils.random32; password: user1.password, secretKey: Ed25519PrivateKeyParameters',
      'curl -u 1000:1000 https://h.example, mysql -h h.example -proto tcp',
      'docker run -u 1000:1000 -p 8080:80 && mysql -u root -p app',
      '"XSRF-TOKEN",maxContentLength:-1, pass: 12345678901234567890, token: 0x3f786850e387550fDAb836ed7e6dc881de23001b',
      "X509_SUBJECT_TOKEN = 'urn:openai:params:oauth:token-type:x509'",
      'nextToken: "9fK2mQ7xLw4ZbT8vRc6NyH", page_token=9fK2mQ7xLw4ZbT8vRc6NyH, token: ./src/A1/b2C3/index.test.ts',
      'The password is wrong. password is required2, secret: OAuth2AccessTokenProvider, token is SHA256withRSA2048bit',
      'author: 9fK2mQ7xLw4ZbT8vRc6NyH, compass: 9fK2mQ7xLw4ZbT8vRc6NyH, tokens: 9fK2mQ7xLw4ZbT8vRc6NyH',
      'https://h.example/?signature=none&token=short&sig=abc, cookie: string = "a", Cookie: name=value',
      'machine learning, login and password; max_tokens: 4096, next_token: 12345678, id_token: string',
      'fc-beta, re_export_everything, key-value, fw_update, vca_list, pat.test and SKILL',
    ])
      expect(redactor.text(harmless)).toBe(harmless)
    expect(redactor.counts().size).toBe(0)
  })
  it.each(['pa$sw0rd1', '$ecretPassw0rd', 'p4ss{word', 'a<b>cdef', 'pa`ss', 'p[ss]word', '{a}b', '$NAMEd', '$NAME!'])(
    'finds %s in a URL',
    (password) => {
      const clean = createRedactor().text(`postgres://app:${password}@db.example/x`)
      expect(clean).toBe(`postgres://app:[redacted url-password, ${password.length} characters]@db.example/x`)
    },
  )
  it('takes no longer for near matches', () => {
    const redactor = createRedactor()
    for (const piece of [
      '-----BEGIN PRIVATE KEY-----',
      'eyJ',
      'sk-ant-',
      'a://b:',
      'bearer ',
      'secret_access_key=',
      'A_TOKEN=',
      'A_TOKEN="',
      ...[
        'curl ',
        'curl -u a',
        'mysql -u ',
        'docker login ',
        'Cookie: a=',
        'Cookie: ',
        'token: ',
        'token":"aB1',
        'password value',
        'secret: a1b2c3',
        '?sig=',
        'AWS4-HMAC-SHA256 ',
      ],
      ...['machine a login b password ', 'machine ', ' --password ', ';Password=', 'password: ', 'x_', 'api_key="'],
      'TOKEN',
      'A_',
      'sbp_',
      'M'.repeat(24),
    ])
      expect(redactor.text(piece.repeat(20_000)).length).toBeGreaterThan(0)
  })
})

describe('a redactor', () => {
  it('searches with a rule of your own from the end of each place that it found', () => {
    const redactor = createRedactor({ rules: [{ name: 'own', pattern: /aba/ }], secrets: false })
    expect(redactor.text('ababa')).toMatch(/^\[redacted own.*\]ba$/)
  })
  it('is frozen', () => {
    const redactor = createRedactor()
    expect([redactor, redactor.quiet].map((redactor) => Object.isFrozen(redactor))).toEqual([true, true])
  })
  it('applies custom rules first, removing their group `secret`', () => {
    const told: unknown[] = []
    const redactor = createRedactor({
      rules: [
        { name: 'customer', pattern: /\bC-\d{4}\b/ },
        { name: 'pin', pattern: /pin:\s*(?<secret>\d+)/i },
      ],
      secrets: false,
      onRedacted: (found) => {
        told.push(found)
        throw new Error('ignored')
      },
    })
    expect(redactor.text(`C-1234 has PIN: 99, C-99 not, ${secret}`)).toBe(
      `[redacted customer, 6 characters] has PIN: [redacted pin, 2 characters], C-99 not, ${secret}`,
    )
    expect(told).toEqual([
      { rule: 'customer', length: 6 },
      { rule: 'pin', length: 2 },
    ])
    // A rule sees a value with its key: a text in its quotes, a number as it is.
    const ends = createRedactor({ rules: [{ name: 'pin', pattern: /"pin":(?<secret>\d+)$/ }, { name: 'word', pattern: /"word":"(?<secret>\w+)"$/ }] }) // oxfmt-ignore
    expect(ends.text('{"pin":1234,"other":1234,"word":"abc"}')).toBe(
      '{"pin":"[redacted pin, 4 characters]","other":1234,"word":"[redacted word, 3 characters]"}',
    )
    // a match without a character is none
    const empty = createRedactor({
      rules: [
        { name: 'x', pattern: /x*/ },
        { name: 'y', pattern: /y(?<secret>z?)/ },
      ],
    })
    expect(empty.text('axxb y yz')).toBe('a[redacted x, 2 characters]b y y[redacted y, 1 characters]')
    expect(() => createRedactor({ rules: [{ name: 'a b', pattern: /x/ }] })).toThrow(TypeError)
    expect(() => createRedactor({ rules: [{ name: 'x', pattern: 'x' as never }] })).toThrow(TypeError)
  })

  it('refuses what it would ignore', async () => {
    const refused: readonly (readonly [unknown, string])[] = [
      [{ rule: [] }, 'redact has no option "rule". Did you mean `rules`? Its options: rules, secrets, onRedacted'],
      [{ text: String }, 'redact has no option "text". Its options: rules, secrets, onRedacted'],
      ...[[], [{ name: 'x', pattern: /x/ }], 'yes', 1, false, null, () => true, /x/, Promise.resolve(true)].map(
        (given) =>
          [given, 'redact takes true, options (rules, secrets, onRedacted) or a redactor of createRedactor'] as const,
      ),
      [{ rules: { name: 'x' } }, '`rules` as an array'],
      [{ secrets: 'no' }, '`secrets` as a boolean'],
      [{ onRedacted: true }, '`onRedacted` as a function'],
      [{ rules: [{ name: 'x', pattern: /x/, word: ['x'] }] }, 'a redaction rule has no option "word"'],
      [{ rules: [{ name: 'x', pattern: /x/, words: 'x' }] }, 'rule x needs its words as an array'],
    ]
    for (const [redact, message] of refused) {
      expect(() => createRedactor(redact as never)).toThrow(TypeError)
      expect(() => createRedactor(redact as never)).toThrow(message)
      expect(() => historyHandler([], { redact: redact as never })).toThrow(message)
      expect(() => createSession(memoryStore(), { redact: redact as never })).toThrow(message)
    }
    const redactor = createRedactor()
    expect(createRedactor(redactor)).toBe(redactor)
  })

  it('redacts a message except ids, names, signatures and bytes, and counts in meta', () => {
    const redactor = createRedactor({ rules: [{ name: 'any', pattern: /SECRET/ }], secrets: false })
    const whole: Message = {
      role: 'assistant',
      id: 'SECRET',
      content: [
        text('a SECRET'),
        reasoning('thinking SECRET', { signature: 'SECRET', summary: ['sum SECRET'] }),
        reasoning('only SECRET', { signature: 'of what was said' }),
        reasoning('nothing', { signature: 'kept' }),
        toolCall('SECRET', 'SECRET', '{"a":{"SECRET":["\\u0053ECRET"]}, "n": 1e3}'),
        toolCall('c2', 'cut', '{"a": "SECRET'),
        { type: 'tool_result', callId: 'SECRET', content: [text('SECRET')] },
        { type: 'file', name: 'SECRET.txt', source: { type: 'base64', data: 'SECRETSECRET', mediaType: 'text/plain' } },
        { type: 'image', source: { type: 'url', url: 'https://x.example/SECRET' } },
        provider('p', { id: 'SECRET', text: 'SECRET' }),
      ],
      meta: { app: { id: 'SECRET', said: ['SECRET'] }, indelible: { step: 'SECRET' } },
    }
    const m = '[redacted any, 6 characters]'
    expect(redactor.message(whole)).toEqual({
      role: 'assistant',
      id: 'SECRET',
      content: [
        text(`a ${m}`),
        { type: 'reasoning', text: `thinking ${m}`, summary: [`sum ${m}`] },
        { type: 'reasoning', text: `only ${m}` },
        reasoning('nothing', { signature: 'kept' }),
        toolCall('SECRET', 'SECRET', `{"a":{"${m}":["${m}"]}, "n": 1e3}`),
        toolCall('c2', 'cut', `{"a": "${m}`),
        { type: 'tool_result', callId: 'SECRET', content: [text(m)] },
        { type: 'file', name: `${m}.txt`, source: { type: 'base64', data: 'SECRETSECRET', mediaType: 'text/plain' } },
        { type: 'image', source: { type: 'url', url: `https://x.example/${m}` } },
        provider('p', { id: 'SECRET', text: m }),
      ],
      meta: { app: { id: 'SECRET', said: [m] }, indelible: { step: 'SECRET', redacted: { any: 12 } } },
    })
    const clean = user('nothing here')
    expect(redactor.message(clean)).toBe(clean)
  })

  it('redacts every text of a note, of all or none of its optional fields; a note without secrets is the same note', () => {
    const redactor = createRedactor()
    const texts = (text: string): readonly Note[] => {
      const said = { role: 'assistant', content: [{ type: 'text', text }] }
      const result = {
        type: 'tool_result',
        callId: 'c',
        name: 'look',
        content: [{ type: 'text', text }],
        isError: false,
      }
      const receipt = { type: 'receipt', len: 0, contextDigest: '0'.repeat(64), model: 'm' } as const
      return [
        { type: 'summary', from: 0, to: 1, text, digest: '0'.repeat(64) } as never,
        { type: 'tool_started', callId: 'c', name: 'look', arguments: JSON.stringify({ text }) },
        { type: 'tool_started', callId: 'c', name: 'look' },
        { ...receipt, parameters: { text } },
        { ...receipt, details: { text } },
        receipt,
        {
          type: 'journal',
          step: 's',
          said: [
            { index: 0, text },
            { index: 1, part: { type: 'text', text } },
          ],
        },
        { type: 'journal', step: 's', answer: said },
        { type: 'journal', step: 's', answer: { role: 'assistant', meta: { text } } },
        { type: 'journal', step: 's', results: [result] },
        { type: 'journal', step: 's', started: ['c'], closed: true },
        { type: 'input', id: 'i', state: 'queued', message: said },
        { type: 'input', id: 'i', state: 'failed', reason: text },
        { type: 'input', id: 'i', state: 'taken', at: 0 },
        { type: 'application', namespace: 'x', content: [text] },
        { type: 'page', position: 0, kind: 'plan' },
        { type: 'erased', was: 'pin' },
        { type: 'pin', position: 0 },
        { type: 'unpin', position: 0 },
        { type: 'retraction', from: 0, to: 1 },
        { type: 'seal' },
      ]
    }
    for (const note of texts('harmless')) expect(redactor.note(note)).toBe(note)
    for (const note of texts(secret)) {
      const clean = redactor.note(note)
      const [before, after] = [note, clean].map((note) => JSON.stringify(note))
      expect([note.type, after?.includes(secret)]).toEqual([note.type, false])
      if (before?.includes(secret) === false) expect(clean).toBe(note)
      else expect(after).toContain('[redacted github-token')
    }
  })

  it('redacts a text that only has the length of a digest, also in JSON', () => {
    const redactor = createRedactor({ rules: [{ name: 'any', pattern: /SECRET/ }], secrets: false })
    for (const around of [58, 57, 59]) {
      const output = `SECRET${'g'.repeat(around)}`
      expect(redactor.text(JSON.stringify({ said: output }))).not.toContain('SECRET')
      expect(redactor.message(user(output))).not.toEqual(user(output))
    }
  })

  it('removes escaped secrets and nothing beside them', () => {
    const { text: clean } = createRedactor({ rules: [{ name: 'any', pattern: /SECRET/ }], secrets: false })
    for (const before of ['a', '\\u{1f642}', '\\u{41}', '\\u0041', '\\ud83d\\ude42', '%41', '\\n'])
      for (const secret of ['SE\\x43RET', '\\u0053ECRET', 'SECRE%54', 'S\\u{45}CRET'])
        expect(clean(`${before} ${secret} behind`)).toMatch(/ \[redacted any, \d+ characters\] behind$/)
  })

  it('keeps the formatting of changed JSON where possible', () => {
    const spaced = `{\n  "token": "${secret}",\n  "big": 12345678901234567890\n}`
    expect(createRedactor().text(spaced)).toBe(spaced.replace(secret, mark))
  })

  it('property: pairing and JSON stay valid, redaction is idempotent, and no secret is left', () => {
    const inside = fc.constantFrom(secret, samples[0]?.[1] as string, samples[3]?.[1] as string)
    const said = fc.tuple(fc.string(), fc.option(inside), fc.string()).map(([a, b, c]) => `${a} ${b ?? ''} ${c}`)
    const value = fc.letrec((tie) => ({
      json: fc.oneof({ maxDepth: 3 }, said, fc.integer(), fc.dictionary(said, tie('json')), fc.array(tie('json'))),
    })).json
    const outputs = new Outputs()
    fc.assert(
      fc.property(said, value, fc.uuid(), (words, json, id) => {
        const redactor = createRedactor()
        const message = assistant(words, toolCall(id, 'x', JSON.stringify(json)))
        const clean = redactor.message(message)
        outputs.add(clean, redactor.text(words), redactor.counts())
        const [, call] = clean.content
        if (call?.type !== 'tool_call') throw new Error('no call')
        expect([call.id, call.name]).toEqual([id, 'x'])
        JSON.parse(call.arguments)
        const all = JSON.stringify(clean)
        for (const [, one] of samples) expect(all.includes(JSON.stringify(one).slice(1, -1))).toBe(false)
        const { meta: _, ...once } = clean
        const { meta: __, ...twice } = redactor.message(clean)
        expect(twice).toEqual(once)
      }),
      { numRuns: 60 },
    )
    outputs.expectToBe('cef7a40843746f0f')
  })
})

describe('redacting sessions', () => {
  const notes: readonly Exclude<Note, { type: 'seal' }>[] = [
    { type: 'tool_started', callId: 'c', name: 'n', arguments: `{"a":"${secret}"}` },
    { type: 'application', namespace: 'x', content: { deep: [secret] } },
    { type: 'input', id: 'i', state: 'queued', message: user(secret) as never },
    {
      type: 'journal',
      step: 's',
      said: [{ index: 0, part: text(secret) as never }],
      answer: assistant(secret) as never,
    },
    {
      type: 'journal',
      step: 's',
      answer: { role: 'assistant' },
      results: [{ type: 'tool_result', callId: 'c', content: [text(secret)] }] as never,
    },
    { type: 'receipt', len: 1, contextDigest: hex(64), model: 'm', parameters: { user: secret } },
  ]

  it('store no secret, however it is written', async () => {
    const store = memoryStore()
    const redactor = createRedactor()
    const session = await ok(
      createSession(store, { id: 's', metadata: { title: secret }, messages: [user(secret)], redact: redactor }),
    )
    await ok(session.append([user(`a ${secret}`), assistant(toolCall('c', 'x', JSON.stringify({ k: secret })))]))
    await ok(session.append(toolResult('c', secret), { operation: 'o' }))
    await ok(session.rebase(() => user(secret)))
    await ok(session.rewind(3, { instead: [user(`instead ${secret}`)] }))
    await ok(session.append({ messages: [user(secret)], notes: [notes[0] as never] }))
    for (const note of notes) await ok(session.note(note as never))
    await ok(session.note({ type: 'summary', from: 0, to: 1, text: `said ${secret}` }))
    await ok(session.update((metadata) => void (metadata['more'] = secret)))
    const fork = await ok(forkSession(store, 's', { metadata: { fork: secret }, redact: true }))
    await ok(fork.append(user(secret)))
    const again = await ok(openSession(store, 's', { redact: redactor }))
    await ok(again.append(user(secret)))
    const stored = JSON.stringify([
      await ok(store.read('s')),
      await ok(store.read(fork.id)),
      await ok(store.info('s')),
      await ok(store.info(fork.id)),
    ])
    expect(stored).not.toContain(secret)
    expect(stored.split('redacted github-token').length).toBeGreaterThan(15)
    expect(session.view().at(0)).toEqual({ ...user(mark), meta: { indelible: { redacted: { 'github-token': 1 } } } })
    // A retry says the same.
    const retried = await ok(again.append(toolResult('c', secret), { operation: 'o', expectedLen: 3 }))
    expect(retried.to).toBe(4)
  })

  it('store everything without `redact`', async () => {
    const session = await ok(createSession(memoryStore(), { messages: [user(secret)] }))
    expect(session.view().at(0)).toEqual(user(secret))
  })

  it('redact messages, notes and metadata of an import', async () => {
    const store = memoryStore()
    const from = await ok(createSession(store, { id: 'from', metadata: { title: secret }, messages: [user(secret)] }))
    await ok(from.note({ type: 'application', namespace: 'x', content: secret }))
    const lines = [
      { indelible: 'export', version: 1, id: 'from', metadata: { title: secret } },
      { message: user(secret), page: 'conversation' },
      { head: { size: 1, root: hex(64) } },
    ]
    const read = readTranscript(lines.map((line) => JSON.stringify(line)).join('\n'))
    if (read._tag === 'Left') throw new Error(read.left._tag)
    await ok(importTranscript(store, read.right, { id: 'to', redact: true }))
    expect(JSON.stringify([await ok(store.read('to')), await ok(store.info('to'))])).not.toContain(secret)
  })
})

describe('redacting run handlers', () => {
  const ahead = { id: 'd1', together: false, events: [] }
  const delta = (append: readonly Message[]): RunEvent =>
    ({ type: 'history_delta', seq: 9, step: 0, id: 'd1', expectedLen: 0, append }) as RunEvent

  it.each(['the session', 'the handler'])(
    'a secret streamed in two pieces is in no note: redact of %s',
    async (who) => {
      const store = memoryStore()
      const given = who === 'the session' ? { redact: true as const } : {}
      const session = await ok(createSession(store, { id: 's', ...given }))
      const handler = sessionHandler(session, {
        journalEvery: { bytes: 1 },
        lease: false,
        ...(who === 'the handler' && { redact: true }),
      })
      await handler({ type: 'step_start', seq: 0, step: 0, len: 0 }, ahead)
      const whole = `It is ${secret} and\n${pem('PRIVATE KEY')}\nso use it.`
      const told = async (event: object, more: object = {}): Promise<void> => {
        const answer = await handler({ type: 'model_event', seq: 1, step: 0, event } as RunEvent, { ...ahead, ...more })
        expect(answer._tag).toBe('Right')
      }
      for (let at = 0; at < whole.length; at += 7)
        await told({ type: 'text_delta', block: 'text', index: 0, text: whole.slice(at, at + 7) })
      const call = toolCall('c1', 'x', JSON.stringify({ secret }))
      await told({ type: 'block_end', index: 0, part: text(whole) })
      await told({ type: 'block_end', index: 1, part: call })
      const message = assistant(text(whole), call)
      await told({ type: 'finish' }, { response: { message } })
      await handler({ type: 'tool_call_start', seq: 2, step: 0, call } as RunEvent, ahead)
      const before = pending(session).steps[0]
      await handler(
        {
          type: 'tool_result',
          seq: 3,
          step: 0,
          result: toolResult('c1', secret).content[0],
          milliseconds: 1,
        } as RunEvent,
        ahead,
      )
      await handler(delta([message, toolResult('c1', secret)]), ahead)
      const rows = await ok(store.read('s'))
      const stored = JSON.stringify(rows)
      expect(stored).not.toContain(secret)
      expect(stored).not.toContain(filled(60))
      expect(rows.filter(({ kind }) => kind === 'note').length).toBeGreaterThan(5) // text was written as it came
      const length = pem('PRIVATE KEY').length
      const clean = `It is ${mark} and\n[redacted private-key, ${length} characters]\nso use it.`
      expect(session.view().at(0)?.content[0]).toEqual(text(clean))
      expect(before?.answer?.content).toEqual([text(clean), toolCall('c1', 'x', JSON.stringify({ secret: mark }))])
    },
  )

  it('historyHandler appends redacted messages, once', () => {
    for (const target of [createHistory<Message>(), [] as Message[]]) {
      const handler = historyHandler(target as Message[], { redact: true })
      expect(handler(delta([user(secret)]))).toMatchObject({ right: 'applied' })
      expect(handler(delta([user(secret)]))).toMatchObject({ right: 'duplicate' })
      const [first] = Array.isArray(target) ? target : target.view()
      expect(first?.content).toEqual([text(mark)])
    }
  })
})

describe('redacting recorders', () => {
  it('the recorder stores no secret in messages, titles, system prompts, tools, parameters or errors', async () => {
    const server = await providerServer(() => ({
      body: {
        id: 'm1',
        type: 'message',
        role: 'assistant',
        model: 'claude-x',
        content: [{ type: 'text', text: `said ${secret}` }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    }))
    const store = memoryStore()
    const redactor = createRedactor()
    const fetch = recordingFetch({ store, redact: redactor, sessionOf: () => 'named' })
    const said: object[] = [{ role: 'user', content: `first ${secret}` }]
    for (let call = 0; call < 3; call++) {
      const body = JSON.stringify({
        model: 'claude-x',
        max_tokens: 5,
        metadata: { user_id: secret },
        system: `system ${secret}`,
        tools: [{ name: 'x', description: secret, input_schema: { type: 'object' } }],
        messages: said,
      })
      const answer = await fetch(`${server.url}/v1/messages`, { method: 'POST', body })
      expect(await answer.text()).toContain(secret) // the traffic goes through unchanged
      said.push({ role: 'assistant', content: `said ${secret}` }, { role: 'user', content: `more ${secret}` })
    }
    await fetch.settled()
    await server.close()
    expect(fetch.summary()).toMatchObject({ calls: 3, lost: 0, sessions: ['named'] })
    const rows = await ok(store.read('named'))
    expect(rows.filter(({ kind }) => kind === 'entry')).toHaveLength(6) // each message once, recognised although it was changed
    const ids = [...JSON.stringify(rows).matchAll(/[0-9a-f]{64}/g)].map(([id]) => id as never)
    const blocks = (await ok(store.getBlocks(ids))).map((bytes) => new TextDecoder().decode(bytes))
    expect(JSON.stringify([rows, await ok(store.info('named')), blocks])).not.toContain(secret)
    expect([...redactor.counts()]).toEqual([['github-token', 6]])
  })

  it('indelible import --redact reports what it removed', () => {
    const file = writeTestFile(
      'secret.json',
      JSON.stringify([{ role: 'user', content: `use ${secret} and ${secret}` }]),
    )
    const store = writeTestFile('redacted.db', '')
    const imported = indelible(['import', file, '--id', 'r', '--redact', '--store', store])
    expect([imported.status, imported.stderr]).toEqual([0, 'redacted: 2 secrets (github-token 2)\n'])
    expect(indelible(['show', 'r', '--store', store]).stdout).toContain(mark)
  })
})
