/** Rules that describe what secrets look like. */

/** A rule for secrets to remove before recording. */
export interface RedactRule {
  /** The rule's name, shown in place of the secret. Letters, digits and hyphens. */
  readonly name: string
  /**
   * What to remove: the whole match, or its group named `secret`, if it has one. In JSON your own rules see each string
   * and number alone, and each value with its key: a pattern that needs several values finds nothing there.
   */
  readonly pattern: RegExp
  /** Only texts with one of these words are searched, in any case if the pattern has the flag `i`. Default: all texts. */
  readonly words?: readonly string[]
  /**
   * Whether the pattern can match white space. If so, streaming text is not journaled until its
   * block is complete, because it could be the start of a match. Default: true.
   */
  readonly spaces?: boolean
}

/** A rule for tokens without white space whose format starts with one of these words. */
const token = (name: string, words: readonly string[], pattern: RegExp): RedactRule => ({
  name,
  pattern,
  words,
  spaces: false,
})

/** The rules of a prefix. They are tried together: most texts have none of their prefixes. */
export const prefixedRules: Set<RedactRule> = new Set()

/** A rule for tokens that are a prefix and at least so many of these characters, with no letter or digit before them. */
const prefixed = (name: string, prefixes: readonly string[], least: number, characters = '\\w-'): RedactRule => {
  const rule = token(
    name,
    prefixes,
    new RegExp(`(?<![A-Za-z0-9])(?:${prefixes.join('|')})[${characters}]{${least},}`, 'g'),
  )
  prefixedRules.add(rule)
  return rule
}

/** Names of environment variables that hold a secret: `GITHUB_TOKEN`, `PGPASSWORD`, `API_KEY`. */
const secretName =
  /(?<![A-Za-z0-9_])[A-Z0-9_]{0,60}(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|(?<=_)(?:PASS|PWD)|CREDENTIALS?|API_?KEY|(?:ACCESS|SECRET|PRIVATE|AUTH|ENCRYPTION|SIGNING|SERVICE|MASTER|ACCOUNT|APP)_KEY|AUTH)/
    .source

const secretWords = ['TOKEN', 'SECRET', 'PASS', 'PWD', 'CREDENTIAL', 'KEY', 'AUTH']

/** Values that only stand for a secret, are read from elsewhere, or are a count. */
const placeholder =
  /(?![$<{*[(%]|x{3}|urn:|[^\s"'`]{0,40}\.{3}|your|(?:process|os|env|config|settings|secrets?)\.|(?:null|none|true|false|undefined|string|redacted|changeme|\d{1,8})(?![\w-]))/
    .source

/** A value directly after `NAME=`, also in quotes, where it may have spaces. */
const assigned =
  /(?<secret>(?<==")[^"\n]{4,400}(?=")|(?<==')[^'\n]{4,400}(?=')|(?<==)[^\s"'`;&|<>(),\\]{6,400}(?=[\s"'`;&|<>),\\]|$))/
    .source

/** What stands between a name and its value: in an assignment, YAML, JSON, XML, a call, or a pair of a name and a value. */
const separator =
  /(?:["'`]?\]?\s{0,3}(?::?=|=>|:\s?[&\w.<>]{1,30}\s{0,3}=|:(?:\s{0,3}[|>][+-]?\n)?)|\s(?:is|was):?|["'`],(?=\s{0,20}["'`])|["']?>|\s[^<>\n]{1,80}>|["']?,?\s{0,20}["']?value["']?\s{0,2}[:=])(?:\s{0,20}|<!\[CDATA\[)["'`]?/
    .source

/** The value is in quotes, or is no name in code with few digits, such as `Uint8Array` or `user1.password`. */
const noName =
  /(?:(?<=["'`])|(?![A-Za-z_$.]{0,60}(?:\d{1,5}[A-Za-z_$.]{1,60}){0,2}\d{0,3}(?:[\s,;(){}[\]<>\\]|$)|x:\d))/.source

/** A value after a separator: with a digit, so that a description is none. In quotes, and in an element, it may have any sign. */
const valued =
  noName +
  placeholder +
  /(?<secret>(?=[^\s"'`]{0,60}\d)(?:(?<=")[^\s"\\]{8,400}(?=")|(?<=')[^\s'\\]{8,400}(?=')|(?<=`)[^\s`\\]{8,400}(?=`)|(?<=>)[^\s"'`<>\\]{8,400}(?=<\/)|(?:(?!&\w{1,40}=)[^\s"'`,;()<>{}[\]\\]){8,400}(?=[\s"'`,;&}<)\]\\]|$)))/
    .source

/** A value that is random: of letters in both cases with digits, or long, of digits and small letters in turn. */
const random =
  /(?!0x|[./~])(?=[\w.~+/-]{0,80}\d)(?:(?=[^\s"'`]{0,80}[a-z])(?=[^\s"'`]{0,80}[A-Z])|(?=[a-z]{0,20}(?:\d{1,20}[a-z]{1,20}){3}))(?<secret>[\w.~+/-]{16,400}={0,2})(?=[\s"'`,;}<)\]\\]|$)/
    .source

/** Names of values that are secret, in any case, or what they end with. */
const namedSecret =
  /(?:api[_-]?key|client[_-]?secret|(?:secret|private|subscription)[_-]?(?:access[_-]?)?key(?:[_-]?base)?|(?:access|auth|refresh|security|id|bearer|vault|csrf)[_-]?token|password|passwd|passphrase)(?<!(?:[?&]|--)[\w-]{0,60})/
    .source

const namedWords = ['key', 'secret', 'token', 'passw', 'passphrase']

/** Names of values that are secret if they are random: a `token` can be a word, or a place in a list. */
const nearSecret =
  /(?:(?<!(?:[Pp]age|[Nn]ext|[Ss]ync|[Cc]ontinuation|[Cc]ursor)[_-]?)[Tt]oken|TOKEN|[Ss]ecret|SECRET|(?<![A-Za-z])(?:auth|pwd|pass)|[Aa]uthorization|Auth|AUTH|Pwd|PWD|Pass|PASS)(?<!(?:[?&]|--)[\w-]{0,60})/
    .source

const nearWords = [...secretWords, 'oken', 'ecret', 'uth', 'wd', 'ass']

/** A parameter of an address that signs it, or is a key. */
const urlParameter =
  /(?:[?&](?:sig|signature|access_token|id_token|refresh_token|auth_token|token|api_?key|client_secret)|(?<![\w-])x-(?:amz|goog)-(?:signature|security-token))=(?<secret>(?=[^\s&#"'`<>]{0,80}\d)[\w.~%+/=-]{16,4000})/gi

/** A value of at least so many characters that is not a placeholder, such as `$NAME` or `<token>`. */
const literal = (least: number): string => `(?<secret>(?![$<{*[(%])[^\\s"'\`,;()<>{}[\\]\\\\]{${least},400})`

/** The start of a private key: PEM, OpenSSH and PGP. */
export const keyBegin = '-----BEGIN'

/**
 * Secret formats with a recognizable prefix chosen by their issuer. Passwords and other secrets without a format are
 * not found; add your own rules for them.
 *
 * No pattern needs a boundary before or after it, because tokens follow words and each other directly. Each unbounded
 * repetition is a single character class that excludes or includes the start of the pattern, so that hostile text is
 * scanned a bounded number of times.
 *
 * Source  each issuer's own documentation of its tokens, as read in November 2026: GitHub ("Behind GitHub's new
 *         authentication token formats"), GitLab ("Token overview"), Slack ("Token types"), AWS IAM ("Unique
 *         identifiers"), Stripe ("API keys"), npm, PyPI, RubyGems, Docker, Hugging Face, Google Cloud, SendGrid,
 *         Shopify, DigitalOcean, HashiCorp Vault, Telegram, Cloudflare ("Token formats"), Doppler, Supabase; the prefixes
 *         in gitleaks' configuration (b58d3f1, July 2026); RFC 7468 (PEM), RFC 7519 (JWT), RFC 6750 (Bearer), RFC 3986
 */
export const secretRules: readonly RedactRule[] = Object.freeze([
  {
    name: 'private-key',
    words: [keyBegin],
    spaces: false, // `ready` checks for a key's start separately
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]*(?:-{1,4}[^-]+){0,100}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=:,. \t\r\n]{16,20000})/g,
  },
  token('anthropic-key', ['sk-ant-'], /sk-ant-[a-z]{2,10}\d{2}-[\w-]{20,}/g),
  token('openrouter-key', ['sk-or-'], /sk-or-v\d-[0-9a-f]{64}/g),
  token(
    'openai-key',
    ['sk-'],
    // `risk-admin-…` is a name: keys are not preceded by `ri`. A key without a distinct format
    // (also DeepSeek's and others') has a digit, and no letter or digit before it.
    /(?<!ri)sk-(?:proj|svcacct|admin|None)-(?=[a-z0-9_-]{0,60}[A-Z])[\w-]{20,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|sk-(?=[a-z0-9]{0,47}[A-Z])(?=[A-Z0-9]{0,47}[a-z])[A-Za-z0-9]{48}|(?<![A-Za-z0-9])sk-(?=[A-Za-z]{0,47}\d)[A-Za-z0-9]{20,}/g,
  ),
  token('google-key', ['AIza'], /AIzaSy[\w-]{33}|\bAIza[\w-]{35}(?![\w-])/g),
  token('google-oauth', ['GOCSPX-', 'ya29.'], /GOCSPX-[\w-]{28}|ya29\.[\w-]{20,}/g),
  token('aws-access-key-id', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], /(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}/g),
  {
    name: 'aws-secret-access-key',
    words: ['secret'],
    spaces: false,
    pattern: /secret[_-]?access[_-]?key\W{1,6}(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
  },
  token(
    'azure-storage-key',
    ['AccountKey=', 'SharedAccessKey='],
    /(?:Account|SharedAccess)Key=(?<secret>[A-Za-z0-9+/]{20,88}={0,2})/g,
  ),
  token('github-token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], /gh[pousr]_[A-Za-z0-9]{36,}/g),
  token('github-token', ['github_pat_'], /github_pat_[A-Za-z0-9_]{22,}/g),
  token('gitlab-token', ['gl'], /gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct)-[\w.-]{20,}/g),
  token('npm-token', ['npm_'], /npm_[A-Za-z0-9]{36}/g),
  token('npm-token', ['_authToken='], /_authToken=(?<secret>[\w.+/=-]{20,})/g),
  token('pypi-token', ['pypi-'], /pypi-AgE[\w-]{50,}/g),
  token('rubygems-key', ['rubygems_'], /rubygems_[0-9a-f]{48}/g),
  token('docker-token', ['dckr_'], /dckr_[op]at_[\w-]{27,}/g),
  token('huggingface-token', ['hf_'], /hf_[A-Za-z0-9]{34,}/g),
  token('groq-key', ['gsk_'], /gsk_[A-Za-z0-9]{52}/g),
  token('xai-key', ['xai-'], /xai-[A-Za-z0-9]{80}/g),
  token('perplexity-key', ['pplx-'], /pplx-[A-Za-z0-9]{40,}/g),
  token('replicate-token', ['r8_'], /r8_[A-Za-z0-9]{37}/g),
  token('slack-token', ['xox', 'xapp-'], /xox[abeoprs](?:\.xox[bp])?-[\w-]{10,}|xapp-\d-[\w-]{10,}/g),
  token('slack-webhook', ['hooks.slack.com'], /hooks\.slack\.com\/(?:services|workflows)\/(?<secret>[\w/]{20,})/g),
  token(
    'stripe-key',
    ['_live_', '_test_', 'whsec_'],
    // `task_test_…` is a name; a key has digits.
    /[rs]k_(?:live|test)_(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}/g,
  ),
  token('sendgrid-key', ['SG.'], /SG\.[\w-]{22}\.[\w-]{43}/g),
  token('shopify-token', ['shp'], /shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}/g),
  token('digitalocean-token', ['_v1_'], /do[opr]_v1_[0-9a-f]{64}/g),
  token('databricks-token', ['dapi'], /dapi[0-9a-f]{32}(?:-\d)?/g),
  token('vault-token', ['hvs.', 'hvb.'], /hv[sb]\.[\w-]{24,}/g),
  token('linear-key', ['lin_'], /lin_(?:api|oauth)_[A-Za-z0-9]{40,}/g),
  token('notion-token', ['ntn_'], /ntn_[A-Za-z0-9]{40,}/g),
  prefixed('supabase-key', ['sbp_', 'sb_secret_'], 20),
  prefixed('atlassian-token', ['ATATT3x', 'ATCTT3x', 'ATBB'], 24, '\\w=-'),
  prefixed('figma-token', ['figd_', 'figo_', 'figor_', 'figoh_'], 20),
  token(
    'doppler-token',
    ['dp.'],
    /(?<![A-Za-z0-9])dp\.(?:st|pt|ct|sa|said|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,}/g,
  ),
  prefixed('postman-key', ['PMAK-'], 24),
  prefixed('pinecone-key', ['pcsk_'], 20),
  prefixed('langsmith-key', ['lsv2_pt_', 'lsv2_sk_'], 20),
  prefixed('langfuse-key', ['sk-lf-', 'pk-lf-'], 20),
  prefixed('nvidia-key', ['nvapi-'], 20),
  prefixed('tavily-key', ['tvly-'], 20),
  prefixed('firecrawl-key', ['fc-'], 32, '0-9a-f'),
  prefixed('vercel-token', ['vcp_', 'vci_', 'vca_', 'vcr_', 'vck_', 'vercel_blob_rw_'], 24),
  prefixed('cloudflare-token', ['cfk_', 'cfut_', 'cfat_'], 40, 'A-Za-z0-9'),
  token('cloudflare-token', ['v1.0-'], /v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}/g),
  token('discord-token', ['.'], /(?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])/g),
  token(
    'discord-webhook',
    ['/webhooks/'],
    /discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{10,25}\/(?<secret>[\w-]{40,})/g,
  ),
  prefixed('onepassword-token', ['ops_eyJ'], 100, 'A-Za-z0-9+/=_-'),
  token('airtable-token', ['pat'], /(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.[0-9a-f]{64}/g),
  prefixed('alibaba-key', ['LTAI'], 20, 'A-Za-z0-9'),
  prefixed('artifactory-token', ['AKCp', 'cmVmdGtuO'], 50, 'A-Za-z0-9'),
  prefixed('bedrock-key', ['ABSK', 'bedrock-api-key-'], 60, 'A-Za-z0-9+/='),
  token('azure-client-secret', ['Q~'], /(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}(?![\w.~-])/g),
  prefixed('clojars-token', ['CLOJARS_'], 60, 'A-Za-z0-9'),
  token('dynatrace-token', ['dt0'], /dt0[a-z]\d{2}\.[A-Z2-7]{8,24}\.[A-Z2-7]{64}/g),
  prefixed('fly-token', ['fo1_', 'fm1r_', 'fm1a_', 'fm2_'], 40, 'A-Za-z0-9+/=_-'),
  prefixed('grafana-token', ['glsa_', 'glc_', 'eyJrIjoi'], 32, 'A-Za-z0-9+/=_'),
  token('terraform-token', ['.atlasv1.'], /(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}/g),
  prefixed('heroku-key', ['HRKU-'], 40),
  prefixed('huggingface-token', ['api_org_'], 34, 'A-Za-z'),
  prefixed('newrelic-key', ['NRAK-', 'NRII-', 'NRAA-'], 27),
  prefixed('netlify-token', ['nfp_', 'nfc_'], 36),
  prefixed('neon-key', ['napi_'], 40),
  prefixed('planetscale-token', ['pscale_tkn_', 'pscale_oauth_', 'pscale_pw_'], 32, '\\w=.-'),
  prefixed('posthog-key', ['phx_', 'phs_'], 32),
  prefixed('prefect-key', ['pnu_', 'pnb_'], 36, 'A-Za-z0-9'),
  prefixed('pulumi-token', ['pul-'], 40, '0-9a-f'),
  prefixed('brevo-key', ['xkeysib-', 'xsmtpsib-'], 64),
  prefixed('resend-key', ['re_'], 32, 'A-Za-z0-9_'),
  prefixed('sentry-token', ['sntrys_', 'sntryu_'], 40, 'A-Za-z0-9+/=_-'),
  prefixed('sonar-token', ['squ_', 'sqp_', 'sqa_'], 40, '0-9a-f'),
  prefixed('sourcegraph-token', ['sgp_'], 40, 'A-Za-z0-9_'),
  prefixed('square-token', ['sq0atp-', 'sq0csp-', 'EAAA'], 22),
  prefixed('cerebras-key', ['csk-'], 40, 'A-Za-z0-9'),
  prefixed('together-key', ['tgp_v1_'], 40),
  prefixed('fireworks-key', ['fw_'], 22, 'A-Za-z0-9'),
  prefixed('jina-key', ['jina_'], 40),
  prefixed('elevenlabs-key', ['sk_'], 48, '0-9a-f'),
  prefixed('e2b-key', ['e2b_'], 40, '0-9a-f'),
  prefixed('apify-token', ['apify_api_'], 30, 'A-Za-z0-9'),
  prefixed('circleci-token', ['CCIPAT_', 'CCIPRJ_'], 40),
  prefixed('buildkite-token', ['bkua_', 'bkaj_'], 40, 'A-Za-z0-9'),
  prefixed('typeform-token', ['tfp_'], 40, '\\w=.-'),
  prefixed('twilio-key', ['SK'], 32, '0-9a-f'),
  token('mailgun-key', ['key-'], /(?<![A-Za-z0-9-])key-[0-9a-f]{32}(?![0-9a-f])/g),
  token('mailchimp-key', ['-us'], /(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}(?!\d)/g),
  token('named-secret', secretWords, new RegExp(`${secretName}=["']?${placeholder}${assigned}`, 'g')),
  token('named-secret', secretWords, new RegExp(secretName + separator + valued, 'g')),
  token('named-secret', secretWords, new RegExp(`${secretName}\\s{1,3}["']?${random}`, 'g')),
  token('telegram-token', [':AA'], /\d{8,10}:AA[\w-]{33}/g),
  token('age-key', ['AGE-SECRET-KEY-1'], /AGE-SECRET-KEY-1[0-9A-Z]{58}/g),
  token('signing-key', ['PRIVATE+KEY+'], /PRIVATE\+KEY\+[^\s+"\\]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{40,}/g),
  token(
    'jwt',
    ['.eyJ'],
    // Starts where a run of letters starts, and only if a token can follow, so that each run is read twice at most.
    /(?<![\w-])(?=[\w-]{13,}\.eyJ[\w-]{10,}\.[\w-]{10})[\w-]*?(?<secret>eyJ[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]{10,}){1,20})/g,
  ),
  token('bearer-token', ['bearer'], /bearer\s{1,4}(?<secret>[\w.~+/-]{20,}=*)/gi),
  token(
    'authorization',
    ['authorization'],
    /authorization\W{1,6}(?:basic|token|bot|api-?key)\s{1,4}(?<secret>[\w.~+/-]{8,}=*)/gi,
  ),
  token(
    'cookie',
    ['cookie'],
    /cookie["']?(?:\s{0,2}:|,\s{0,2}"value":)\s{0,2}["']?(?<secret>[\w.%-]{1,60}=[^\r\n\\"'<>`{}$]{8,4000})/gi,
  ),
  token('url-signature', ['?', '&', 'x-amz-', 'x-goog-'], urlParameter),
  token('aws-signature', ['Signature='], /AWS4-HMAC-SHA256[^\n]{0,400}?\bSignature=(?<secret>[0-9a-f]{64})/g),
  token('named-secret', namedWords, new RegExp(namedSecret + separator + valued, 'gi')),
  token('named-secret', nearWords, new RegExp(nearSecret + separator + noName + random, 'g')),
  token(
    'connection-password',
    ['password', 'pwd'],
    /(?:^|;\s?)(?:password|pwd)=(?<secret>(?:(?!&\w{1,40}=)[^\s,;"'`{}<>$*]){4,200})/gi,
  ),
  token('connection-password', ['password', 'pwd'], /[?&](?:password|pwd)=(?<secret>[^\s;&"'`{}<>$*]{4,200})/gi),
  token(
    'netrc-password',
    ['machine'],
    /machine\s{1,4}\S{1,80}\s{1,8}login\s{1,4}\S{1,60}\s{1,8}password\s{1,4}(?<secret>[^\s"'`<>$]{4,200})/g,
  ),
  token(
    'argument',
    ['-p', '-t', '-a', '-s'],
    new RegExp(
      `(?<![\\w-])--?(?:[\\w-]{1,30}-)?(?:password|passwd|token|api-?key|secret)(?:=|\\s{1,3})["']?(?=[^\\s"'\`]{0,60}\\d)${literal(8)}`,
      'g',
    ),
  ),
  token(
    'argument',
    ['curl'],
    new RegExp(
      `\\bcurl\\b[^\\n]{0,160}?\\s(?:-u|--user[ =])[ =]?["']?[\\w.@+-]{1,60}:(?!\\d{1,8}(?:\\s|$))${literal(4)}`,
      'g',
    ),
  ),
  token(
    'argument',
    ['mysql', 'mariadb', 'sshpass', ' login'], // not `-protocol`
    new RegExp(
      `\\b(?:(?:mysql(?:dump|admin)?|mariadb)\\b[^\\n|;&]{0,100}?\\s-p(?!rot)|(?:sshpass|(?:docker|podman|registry|az) login\\b[^\\n|;&]{0,100}?)\\s-p\\s?["']?)${literal(4)}`,
      'g',
    ),
  ),
  token(
    'url-password',
    ['://'],
    // Placeholders are not passwords: `${…}`, `$(…)`, `$NAME`, `{…}`, `<…>`, `[…]`.
    /:\/\/[^\s/:@"'`]{0,200}:(?!(?:\$?\{[^\s/@"']{0,200}\}|\$\([^\s/@"']{0,200}\)|\$[A-Z_][A-Z0-9_]{0,200}|<[^\s/@"']{0,200}>|\[[^\s/@"']{0,200}\])@)(?<secret>[^\s/@"']{3,})(?=@[\w[])/g,
  ),
])

/** Whether a text may have a token that one of `prefixedRules` finds. */
export const somePrefix: RegExp = new RegExp(
  `(?<![A-Za-z0-9])(?:${[...prefixedRules].flatMap(({ words = [] }) => words).join('|')})[\\w+/=.-]{16}`,
)
