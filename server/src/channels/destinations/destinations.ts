/**
 * The door of destinations: servers and buckets to which a channel's files are delivered. They do not depend on
 * channels or builds.
 */

import { type Static, type TObject, Type } from 'typebox';
import {
  describeMasked,
  fillMembers,
  listMasked,
  maskMembers,
  type Outbound,
  OutboundProblem,
  pickSecrets,
  type SecretMembers,
} from '../../outbound/outbound.ts';
import { checkS3Endpoint, S3, s3AccessOptions, s3BucketOptions, s3Secrets } from '../../outbound/s3/s3.ts';
import {
  checkSftpServer,
  openSftp,
  sftpAddressOf,
  sftpOptions,
  sftpSecrets,
} from '../../outbound/sftp/sftp.ts';

interface OpenedDestination extends Disposable {
  /**
   * Readers see the old file or the new file, never a part of it. Some servers show no file for a moment. @throws
   * OutboundProblem
   */
  write(name: string, bytes: AsyncIterable<Uint8Array>, mediaType: string): Promise<number>;
  /** A missing file counts as removed. @throws OutboundProblem */
  remove(name: string): Promise<void>;
}

/**
 * A kind of destination: one record in the list of `destinations.ts`. `Sent` is the type of a destination in a
 * definition.
 */
interface DestinationKind<Sent> {
  readonly type: string;
  /** @returns problems that the schema cannot express, by option */
  check(sent: Sent): Readonly<Record<string, string | undefined>>;
  /** @throws OutboundProblem */
  open(sent: Sent, via: Outbound): Promise<OpenedDestination>;
  /** The location, for people. It contains no secrets. */
  describe(sent: Sent): string;
  readonly secrets: SecretMembers<Sent>;
  /** The account at an address to which the secrets belong. */
  accountOf(sent: Sent): string;
}

/** Shared by both kinds, like `checkFolder` and `pathIn`. */
const folderOption = (description: string) =>
  Type.Optional(Type.String({ maxLength: 255, 'x-label': 'Folder', description }));

/** @returns the problem of a folder, after removing its optional prefix */
function checkFolder(folder: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the check refuses control characters.
  if (/[\u0000-\u001f\u007f\\]/.test(folder)) return 'must use / and contain no \\ or control characters';
  const names = folder.replace(/\/$/, '').split('/');
  const isEmpty = folder === '' || folder === '/';
  const isWrong = names.some((name) => name === '' || name === '.' || name === '..');
  return !isEmpty && isWrong ? 'must not contain an empty name, . or ..' : undefined;
}

const pathIn = (folder: string | undefined, name: string): string =>
  !folder || folder.endsWith('/') ? `${folder ?? ''}${name}` : `${folder}/${name}`;

/** Preserves the types of a record's options. */
const defineDestination = <Schema extends TObject>(
  kind: DestinationKind<Static<Schema>> & { readonly schema: Schema },
) => kind;

const s3 = defineDestination({
  type: 's3',
  schema: Type.Object(
    {
      type: Type.Literal('s3'),
      ...s3BucketOptions,
      folder: folderOption('the prefix of the keys, such as feeds/google; default: none'),
      ...s3AccessOptions,
    },
    {
      additionalProperties: false,
      title: 'S3Destination',
      'x-label': 'A bucket of S3 or a compatible server',
      description: 'Objects of a bucket of Amazon S3, or of a server that speaks its protocol',
    },
  ),
  check: ({ endpoint, folder = '' }) => ({
    endpoint: checkS3Endpoint(endpoint),
    folder: folder.startsWith('/')
      ? 'must not begin with /, because keys of objects do not'
      : checkFolder(folder),
  }),
  async open({ type: _, folder, ...bucketPlace }, via) {
    const bucket = new S3(bucketPlace, via);
    return {
      write: (name, bytes, contentType) => bucket.write(pathIn(folder, name), bytes, { contentType }),
      remove: (name) => bucket.remove(pathIn(folder, name)),
      [Symbol.dispose]() {},
    };
  },
  describe: ({ endpoint, bucket, folder }) =>
    `${pathIn(folder, '') || 'the top'} of the bucket ${bucket} at ${URL.parse(endpoint)?.host}`,
  secrets: s3Secrets,
  accountOf: ({ bucket, accessKeyId }) => JSON.stringify([bucket, accessKeyId]),
});

const sftp = defineDestination({
  type: 'sftp',
  schema: Type.Object(
    {
      type: Type.Literal('sftp'),
      ...sftpOptions,
      folder: folderOption(
        'an existing folder: absolute with a leading /, otherwise below the login folder; default: the login folder',
      ),
    },
    {
      additionalProperties: false,
      title: 'SftpDestination',
      'x-label': 'A server, by SFTP',
      description: 'A folder of a server, written by SFTP. The key of the server is pinned',
    },
  ),
  check: (sent) => ({
    ...checkSftpServer(sent),
    folder: checkFolder((sent.folder ?? '').replace(/^\//, '')),
  }),
  async open({ type: _, folder, ...server }, via) {
    const session = await openSftp(server, via);
    return {
      write: (name, bytes) =>
        session.write(pathIn(folder, name), bytes).catch((error: unknown) => {
          if (!(error instanceof OutboundProblem && error.reason === 'no_file')) throw error;
          const text = `${server.host} has no folder ${folder}; create it, or choose another folder`;
          throw new OutboundProblem('no_file', text, { cause: error });
        }),
      remove: (name) => session.remove(pathIn(folder, name)),
      [Symbol.dispose]: session.close,
    };
  },
  describe: (sent) => sftpAddressOf(sent, pathIn(sent.folder, '')),
  secrets: sftpSecrets,
  accountOf: ({ user }) => user,
});

/**
 * All other uses of destinations are derived from this list: docs/openapi.json, checks, masks, and the console's
 * choice.
 */
const DESTINATIONS = [sftp, s3] as const;

/** Source: docs/interface §16.8. */
export const DestinationSchema = Type.Union(DESTINATIONS.map(({ schema }) => schema));
export type Destination = Static<(typeof DESTINATIONS)[number]['schema']>;

/** @throws Error for an unknown type; the type of a stored destination was checked before */
function getKind({ type }: Destination): DestinationKind<Destination> {
  const kind = DESTINATIONS.find((candidate) => candidate.type === type);
  if (kind === undefined) throw new Error(`There is no destination ${type}`);
  return kind as DestinationKind<Destination>;
}

export const describeDestination = (destination: Destination): string =>
  getKind(destination).describe(destination);

/** @returns problems that the schema cannot express, for the details of a refusal */
export function checkDestinations(sent: readonly Destination[]): string[] {
  const locations = sent.map(locationOf);
  return sent.flatMap((destination, index) => {
    const problems = Object.entries(getKind(destination).check(destination)).flatMap(([option, problem]) =>
      problem === undefined ? [] : [`/destinations/${index}/${option}: ${problem}`],
    );
    const first = locations.indexOf(locations[index] ?? '');
    return first === index
      ? problems
      : [...problems, `/destinations/${index}: is the same location as ${first}`];
  });
}

function locationOf(destination: Destination): string {
  const { type, secrets, accountOf } = getKind(destination);
  return JSON.stringify([
    type,
    secrets.sentTo(destination),
    accountOf(destination),
    pathIn(destination.folder, ''),
  ]);
}

/** @returns the destinations in the form for answers and storage, with *** in place of secrets */
export const maskDestinations = (list: readonly Destination[]): Destination[] =>
  list.map((destination) => maskMembers(destination, getKind(destination).secrets));

/** @returns the secrets of each destination, to be sealed; undefined if there are none, or only masked ones */
export function secretsOf(list: readonly Destination[]): readonly (object | null)[] | undefined {
  const secrets = list.map((destination) => pickSecrets(destination, getKind(destination).secrets) ?? null);
  return secrets.some((secret) => secret !== null) ? secrets : undefined;
}

export const withSecrets = (
  masked: readonly Destination[],
  secrets: readonly (object | null)[],
): Destination[] => masked.map((destination, index) => ({ ...destination, ...secrets[index] }));

export const hasMasked = (list: readonly Destination[]): boolean =>
  list.some((destination) => listMasked(destination, getKind(destination).secrets).length > 0);

/** @returns destinations with the masked values filled in, or problems for the details of a refusal */
export function fillMasked(sent: readonly Destination[], stored: readonly Destination[]) {
  const problems: string[] = [];
  const filled = sent.map((destination, index) => {
    const { secrets } = getKind(destination);
    const completed = rankStored(destination, index, stored)
      .map((candidate) => fillMembers(destination, candidate, secrets))
      .find((whole) => whole !== undefined);
    if (completed !== undefined) return completed;
    const masked = listMasked(destination, secrets);
    problems.push(...masked.map((member) => describeMasked(`/destinations/${index}/${member}`)));
    return destination;
  });
  return { filled, problems };
}

/**
 * Destinations have no name. So stored destinations of the same account come first, then the one at the same position
 * of the list.
 */
function rankStored(sent: Destination, position: number, stored: readonly Destination[]) {
  const { accountOf } = getKind(sent);
  const ranked = stored
    .map((destination, index) => ({ destination, isHere: Number(index === position) }))
    .filter(({ destination }) => destination.type === sent.type)
    .map((candidate) => ({
      ...candidate,
      isSame: Number(accountOf(candidate.destination) === accountOf(sent)),
    }))
    .sort((a, b) => b.isSame - a.isSame || b.isHere - a.isHere);
  return ranked.length === 0 ? [undefined] : ranked.map(({ destination }) => destination);
}

/** The caller closes the destination. @throws OutboundProblem */
export const openDestination = (destination: Destination, via: Outbound): Promise<OpenedDestination> =>
  getKind(destination).open(destination, via);
