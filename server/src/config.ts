import { isIP } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { type Static, type TSchema, type TString, Type } from 'typebox';
import { Value } from 'typebox/value';
import { isProtectedUrl } from './kernel/protected-url.ts';
import { readRoleRules } from './kernel/role-rules.ts';
import { readSecretKey } from './kernel/secret-key.ts';

/** All settings of the service. A unit ends the name. Only this file reads process.env. */
const Environment = Type.Object(
  {
    RELATA_HOST: Type.String({ default: '127.0.0.1', minLength: 1 }),
    /** 0: any free port. */
    RELATA_PORT: Type.Integer({ default: 4810, minimum: 0, maximum: 65_535 }),
    RELATA_DATA_DIR: Type.String({ default: './data', minLength: 1 }),
    RELATA_DATABASE_URL: Type.Optional(
      checked(isDatabaseUrl, 'must begin with postgres:// or postgresql:// and name a host and a database'),
    ),
    /** Connections of the serving thread; the others have two each. */
    RELATA_DATABASE_POOL: Type.Integer({ default: 10, minimum: 2, maximum: 1_000 }),
    RELATA_DATABASE_PREPARED_STATEMENTS: Type.Enum(['true', 'false'], { default: 'true' }),
    RELATA_REPLICA_URLS: checkedList(isDatabaseUrl, 'must list postgres:// URLs, by commas'),
    RELATA_REPLICA_MAX_DELAY_MS: Type.Integer({ default: 1_000, minimum: 1, maximum: 600_000 }),
    RELATA_ACCOUNT_KEY: Type.Optional(
      checked(isAccountKey, 'must be at least 32 printable ASCII characters without spaces'),
    ),
    /** Whether a start shows a link for the first owner. */
    RELATA_OWNER_LINK: Type.Enum(['true', 'false'], { default: 'true' }),
    RELATA_PUBLIC_URL: Type.Optional(
      checked(isBaseUrl, 'must be an http:// or https:// URL without credentials, query and fragment'),
    ),
    /** A body becomes one string, and V8 limits strings to 512 MiB. */
    RELATA_UPLOAD_MAX_MIB: Type.Integer({ default: 128, minimum: 1, maximum: 500 }),
    RELATA_LOG_LEVEL: Type.Enum(['debug', 'info', 'warn', 'error', 'silent'], { default: 'info' }),
    RELATA_TASK_RETENTION_DAYS: Type.Integer({ default: 30, minimum: 1, maximum: 36_500 }),
    RELATA_CORS_ORIGINS: checkedList(isOrigin, 'must list origins such as https://shop.example, by commas'),
    /** Origins of pages that may use MCP, besides the service's own. */
    RELATA_MCP_ORIGINS: checkedList(isOrigin, 'must list origins such as https://agent.example, by commas'),
    RELATA_TRUSTED_PROXIES: checkedList(isAddressRange, 'must list IP addresses or CIDR ranges, by commas'),
    /** Has a folder for each project; unset: pipelines cannot read directories. */
    RELATA_IMPORT_DIR: Type.Optional(Type.String({ minLength: 1 })),
    /** Addresses that pipelines may fetch from although they are not public. */
    RELATA_FETCH_ALLOW: checkedList(isRangeOfAll, 'must list IP addresses or CIDR ranges, by commas'),
    /** The size as received; unpacked it may be twice that. */
    RELATA_SOURCE_MAX_MIB: Type.Integer({ default: 4_096, minimum: 1, maximum: 1_048_576 }),
    /** Seal the secrets of sources: the first one seals, all of them unseal. */
    RELATA_SECRET_KEYS: checkedList(
      (key) => readSecretKey(key) !== undefined,
      'must list keys of 32 bytes in base64 (openssl rand -base64 32), by commas',
    ),
    RELATA_SECRET_KEYS_FILE: Type.Optional(Type.String({ minLength: 1 })),
    /** The provider of company accounts; unset: people sign in with passwords only. */
    RELATA_OIDC_ISSUER: Type.Optional(
      checked(isIssuer, 'must be an https:// URL, or http:// on this machine, without query and fragment'),
    ),
    RELATA_OIDC_CLIENT_ID: Type.Optional(Type.String({ minLength: 1 })),
    /** Unset: a public client. */
    RELATA_OIDC_CLIENT_SECRET: Type.Optional(Type.String({ minLength: 1 })),
    RELATA_OIDC_NAME: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    RELATA_OIDC_SCOPES: checked(hasOpenid, 'must list scopes by spaces, openid among them', {
      default: 'openid email profile',
    }),
    RELATA_OIDC_GROUPS_CLAIM: Type.String({ default: 'groups', minLength: 1 }),
    RELATA_OIDC_ROLES: Type.Optional(
      checked(
        (text) => readRoleRules(text) !== undefined,
        'must be JSON such as [{"group":"Relata admins","role":"owner"},{"group":"*","role":"viewer"}]',
      ),
    ),
    RELATA_PARSER_THREADS: Type.Integer({ default: defaultParserThreads(), minimum: 1, maximum: 64 }),
    RELATA_WRITER_THREADS: Type.Integer({ default: 4, minimum: 1, maximum: 64 }),
    /** Threads that answer relations. */
    RELATA_READER_THREADS: Type.Integer({ default: 2, minimum: 1, maximum: 64 }),
    RELATA_RELATION_SECONDS: Type.Integer({ default: 20, minimum: 1, maximum: 3_600 }),
    /** What the callers of a channel may cost in a minute, who need no key: uploads that are read, and the time of a thread. */
    RELATA_CHANNEL_MIB: Type.Integer({ default: 1_024, minimum: 1, maximum: 1_048_576 }),
    RELATA_CHANNEL_SECONDS: Type.Integer({ default: 20, minimum: 1, maximum: 3_600 }),
    /** Memory that bodies in flight share. */
    RELATA_BODY_BUDGET_MIB: Type.Integer({ default: 256, minimum: 1, maximum: 1_048_576 }),
    /** 0: nothing is cached. */
    RELATA_CACHE_MIB: Type.Integer({ default: defaultCacheMib(), minimum: 0, maximum: 1_048_576 }),
    /** The target of the continuous backup of the data directory; unset: none. */
    RELATA_BACKUP_URL: Type.Optional(checked(isBackupUrl, 'must be file:///… or s3://bucket/prefix')),
    /** Encrypts the backup. */
    RELATA_BACKUP_KEY: Type.Optional(
      checked(
        (key) => readSecretKey(key) !== undefined,
        'must be 32 bytes in base64 (openssl rand -base64 32)',
      ),
    ),
    RELATA_BACKUP_KEEP_SECONDS_H: Type.Integer({ default: 24, minimum: 1, maximum: 8_760 }),
    RELATA_BACKUP_KEEP_HOURS_D: Type.Integer({ default: 30, minimum: 1, maximum: 3_650 }),
    /** How much may wait on the disk for an unreachable target. */
    RELATA_BACKUP_BACKLOG_MIB: Type.Integer({ default: 1_024, minimum: 1, maximum: 1_048_576 }),
    RELATA_BACKUP_S3_ENDPOINT: Type.Optional(checked(isBaseUrl, 'must be an http:// or https:// URL')),
    RELATA_BACKUP_S3_REGION: Type.Optional(Type.String({ minLength: 1 })),
    RELATA_BACKUP_S3_ACCESS_KEY_ID: Type.Optional(Type.String({ minLength: 1 })),
    RELATA_BACKUP_S3_SECRET_ACCESS_KEY: Type.Optional(Type.String({ minLength: 1 })),
    RELATA_BACKUP_S3_FORCE_PATH_STYLE: Type.Optional(Type.Enum(['true', 'false'])),
    /** For the commands that talk to a service; a service itself ignores them. */
    RELATA_URL: Type.Optional(Type.String()),
    RELATA_API_KEY: Type.Optional(Type.String()),
    RELATA_PROJECT: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);

type Environment = Static<typeof Environment>;

export type Config = ReturnType<typeof toConfig> & { readonly traces: TraceSettings | undefined };

/**
 * Reads the settings once, at the start. Source: docs/interface §10.1.
 * @throws Error that names every wrong or unknown RELATA_ variable, never a value: some are secret.
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.entries(env)
    .filter(([name]) => name.startsWith('RELATA_') && !name.startsWith('RELATA_TEST_'))
    .map(([name, text]) => [name, readText(name, text)]);
  const settings = Value.Default(Environment, Object.fromEntries(given));
  const problems = [...listProblems(settings), ...listMissing(settings as Partial<Environment>)];
  if (problems.length > 0) throw new Error(`Configuration: ${problems.join('; ')}`);
  return Object.freeze({ ...toConfig(settings as Environment), traces: readTraces(env) });
}

export type TraceSettings = NonNullable<ReturnType<typeof readTraces>>;

/** The standard variables of OpenTelemetry that its exporter does not read itself. @returns undefined: no traces */
function readTraces(env: NodeJS.ProcessEnv) {
  const get = (name: string) => env[`OTEL_${name}`]?.trim() || undefined;
  const getNumber = (name: string) => (/^\d{1,9}$/.test(get(name) ?? '') ? Number(get(name)) : undefined);
  const given = ['EXPORTER_OTLP_TRACES_ENDPOINT', 'EXPORTER_OTLP_ENDPOINT'].flatMap(
    (name) => get(name) ?? [],
  );
  const exporter = get('TRACES_EXPORTER') ?? (given.length === 0 ? 'none' : 'otlp');
  const [endpoint = 'http://localhost:4318'] = given;
  if (exporter !== 'otlp' || get('SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const ratio = Number(get('TRACES_SAMPLER_ARG') ?? 1);
  const sizes = {
    scheduledDelayMillis: getNumber('BSP_SCHEDULE_DELAY'),
    exportTimeoutMillis: getNumber('BSP_EXPORT_TIMEOUT'),
    maxQueueSize: getNumber('BSP_MAX_QUEUE_SIZE'),
    maxExportBatchSize: getNumber('BSP_MAX_EXPORT_BATCH_SIZE'),
  };
  return {
    /** The exporter reads it itself, with its paths; `relata doctor` connects to it. */
    endpoint,
    protocol: get('EXPORTER_OTLP_TRACES_PROTOCOL') ?? get('EXPORTER_OTLP_PROTOCOL') ?? 'http/protobuf',
    sampler: get('TRACES_SAMPLER') ?? 'parentbased_always_on',
    samplerRatio: ratio >= 0 && ratio <= 1 ? ratio : 1,
    batches: Object.fromEntries(Object.entries(sizes).filter(([, value]) => value !== undefined)),
  };
}

/** Where the commands that feed a service find it, and where they store their state. */
export function readClientSettings(env: NodeJS.ProcessEnv = process.env) {
  return {
    url: env.RELATA_URL || undefined,
    key: env.RELATA_API_KEY || undefined,
    project: env.RELATA_PROJECT || undefined,
    configHome: env.XDG_CONFIG_HOME || undefined,
    stateHome: env.XDG_STATE_HOME || undefined,
  };
}

/** Only digits are a number: `1e3`, `0x10`, `4810.5` or an empty text are mistakes. */
function readText(name: string, text: string | undefined): unknown {
  const schema: TSchema | undefined = (Environment.properties as Record<string, TSchema>)[name];
  const isNumber = schema !== undefined && 'type' in schema && schema.type === 'integer';
  return isNumber && /^\d{1,15}$/.test(text ?? '') ? Number(text) : text;
}

function listProblems(settings: unknown): string[] {
  return Value.Errors(Environment, settings).flatMap((issue) => {
    // For an unknown name this only repeats what additionalProperties reports for all of them.
    if (issue.keyword === 'boolean') return [];
    if (issue.keyword === 'additionalProperties') {
      return issue.params.additionalProperties.map((name) => `${name} is not a known setting`);
    }
    if (issue.keyword === 'enum') {
      return `${issue.instancePath.slice(1)} must be one of ${issue.params.allowedValues.join(', ')}`;
    }
    return `${issue.instancePath.slice(1)} ${issue.message}`;
  });
}

/** Settings that others require. */
function listMissing(settings: Partial<Environment>): string[] {
  const needs = (name: keyof Environment, needed: readonly (keyof Environment)[]) =>
    settings[name] === undefined
      ? []
      : needed.filter((one) => settings[one] === undefined).map((one) => `${name} needs ${one}`);
  return [
    ...needs('RELATA_OIDC_ISSUER', ['RELATA_OIDC_CLIENT_ID', 'RELATA_OIDC_ROLES']),
    ...needs('RELATA_BACKUP_S3_ENDPOINT', [
      'RELATA_BACKUP_S3_ACCESS_KEY_ID',
      'RELATA_BACKUP_S3_SECRET_ACCESS_KEY',
    ]),
  ];
}

function toConfig(settings: Environment) {
  return Object.freeze({
    host: settings.RELATA_HOST,
    port: settings.RELATA_PORT,
    dataDir: settings.RELATA_DATA_DIR,
    /** The address of PostgreSQL; undefined: the embedded store in the data directory. */
    database: toDatabase(settings),
    /** The first account key of an empty store; undefined: one is created. */
    accountKey: settings.RELATA_ACCOUNT_KEY,
    showsOwnerLink: settings.RELATA_OWNER_LINK === 'true',
    /** Without a trailing slash; undefined: host and port. */
    publicUrl: settings.RELATA_PUBLIC_URL?.replace(/\/+$/, ''),
    uploadMaxMib: settings.RELATA_UPLOAD_MAX_MIB,
    logLevel: settings.RELATA_LOG_LEVEL,
    taskRetentionDays: settings.RELATA_TASK_RETENTION_DAYS,
    corsOrigins: Object.freeze(splitList(settings.RELATA_CORS_ORIGINS)),
    mcpOrigins: Object.freeze(splitList(settings.RELATA_MCP_ORIGINS)),
    trustedProxies: Object.freeze(splitList(settings.RELATA_TRUSTED_PROXIES)),
    /** undefined: pipelines read no directories. */
    importDir: settings.RELATA_IMPORT_DIR,
    fetchAllow: Object.freeze(splitList(settings.RELATA_FETCH_ALLOW)),
    sourceMaxMib: settings.RELATA_SOURCE_MAX_MIB,
    secretKeys: Object.freeze(
      splitList(settings.RELATA_SECRET_KEYS).flatMap((key) => readSecretKey(key) ?? []),
    ),
    /** A file with more keys, one per line. */
    secretKeysFile: settings.RELATA_SECRET_KEYS_FILE,
    /** undefined: people sign in with passwords only. */
    oidc: toOidc(settings),
    parserThreads: settings.RELATA_PARSER_THREADS,
    writerThreads: settings.RELATA_WRITER_THREADS,
    readerThreads: settings.RELATA_READER_THREADS,
    relationSeconds: settings.RELATA_RELATION_SECONDS,
    keyless: {
      mibPerMinute: settings.RELATA_CHANNEL_MIB,
      secondsPerMinute: settings.RELATA_CHANNEL_SECONDS,
    },
    bodyBudgetMib: settings.RELATA_BODY_BUDGET_MIB,
    cacheMib: settings.RELATA_CACHE_MIB,
    backup: toBackup(settings),
  });
}

function toBackup(settings: Environment) {
  const endpoint = settings.RELATA_BACKUP_S3_ENDPOINT;
  const pathStyle = settings.RELATA_BACKUP_S3_FORCE_PATH_STYLE;
  const s3 = endpoint !== undefined && {
    endpoint,
    accessKeyId: settings.RELATA_BACKUP_S3_ACCESS_KEY_ID ?? '',
    secretAccessKey: settings.RELATA_BACKUP_S3_SECRET_ACCESS_KEY ?? '',
    region: settings.RELATA_BACKUP_S3_REGION,
    forcePathStyle: pathStyle === undefined ? undefined : pathStyle === 'true',
  };
  return {
    /** undefined: no continuous backup. */
    url: settings.RELATA_BACKUP_URL,
    s3: s3 || undefined,
    key: readSecretKey(settings.RELATA_BACKUP_KEY ?? ''),
    keepSecondsHours: settings.RELATA_BACKUP_KEEP_SECONDS_H,
    keepHoursDays: settings.RELATA_BACKUP_KEEP_HOURS_D,
    backlogBytes: settings.RELATA_BACKUP_BACKLOG_MIB * 1024 * 1024,
  };
}

function toDatabase(settings: Environment) {
  if (settings.RELATA_DATABASE_URL === undefined) return undefined;
  return {
    url: settings.RELATA_DATABASE_URL,
    connections: settings.RELATA_DATABASE_POOL,
    prepares: settings.RELATA_DATABASE_PREPARED_STATEMENTS === 'true',
    replicaUrls: splitList(settings.RELATA_REPLICA_URLS),
    replicaMaxDelayMs: settings.RELATA_REPLICA_MAX_DELAY_MS,
  };
}

function toOidc(settings: Environment) {
  const { RELATA_OIDC_ISSUER: issuer, RELATA_OIDC_CLIENT_ID: clientId } = settings;
  if (issuer === undefined || clientId === undefined) return undefined;
  return {
    issuer,
    clientId,
    clientSecret: settings.RELATA_OIDC_CLIENT_SECRET,
    name: settings.RELATA_OIDC_NAME ?? new URL(issuer).host,
    scopes: settings.RELATA_OIDC_SCOPES,
    groupsClaim: settings.RELATA_OIDC_GROUPS_CLAIM,
    roles: readRoleRules(settings.RELATA_OIDC_ROLES ?? '') ?? [],
  };
}

/** One core is left to the serving thread; each thread holds a body and its products in memory. */
function defaultParserThreads(): number {
  return Math.min(4, Math.max(1, availableParallelism() - 1));
}

/** An eighth of the memory of the machine, or the container; the rest is for threads and the system's own cache. */
function defaultCacheMib(): number {
  const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.max(64, Math.floor(Math.min(totalmem(), limit) / 8 / 1024 / 1024));
}

function checked(
  isGood: (text: string) => boolean,
  message: string,
  options: { default?: string } = {},
): TString {
  return Type.Refine(Type.String(options), isGood, () => message);
}

function checkedList(isGood: (part: string) => boolean, message: string): TString {
  const check = (text: string) => splitList(text).every(isGood);
  return Type.Refine(Type.String({ default: '' }), check, () => message);
}

function isDatabaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && url.pathname.length > 1;
}

function isBackupUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.search !== '' || url.hash !== '') return false;
  return url.protocol === 'file:'
    ? url.host === '' && url.pathname.length > 1
    : url.protocol === 's3:' && url.host !== '';
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  return isBaseUrl(text) && url !== null && isProtectedUrl(url);
}

function hasOpenid(text: string): boolean {
  return /^[!-~]+( [!-~]+)*$/.test(text) && text.split(' ').includes('openid');
}

/** It must be valid in an `Authorization` header as it is. */
function isAccountKey(text: string): boolean {
  return /^[!-~]{32,}$/.test(text);
}

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.username === '' && url.password === '' && !/[?#]/.test(text);
}

/** In the form that browsers send in `Origin`: compared literally, so a trailing slash would never match. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text;
}

/** A range of one network interface is not one that a name could resolve to. */
function isRangeOfAll(text: string): boolean {
  return isAddressRange(text) && !text.includes('%');
}

function isAddressRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}
