/**
 * The door of destinations: servers and buckets that a channel's files are delivered to. They know nothing of channels and
 * builds.
 */
import { type Static, Type } from 'typebox';
import {
  describeMasked,
  fillMembers,
  listMasked,
  maskMembers,
  type Outbound,
  pickSecrets,
} from '../../outbound/outbound.ts';
import { type DestinationKind, type OpenedDestination, pathIn } from './destination.ts';
import { s3 } from './s3-destination.ts';
import { sftp } from './sftp-destination.ts';

export type { OpenedDestination } from './destination.ts';

/** Everything else that knows destinations follows from this list: docs/openapi.json, checks, masks, the console's choice. */
const DESTINATIONS = [sftp, s3] as const;

/** Source: docs/interface.md §16.8. */
export const DestinationSchema = Type.Union(DESTINATIONS.map(({ schema }) => schema));
export type Destination = Static<(typeof DESTINATIONS)[number]['schema']>;

const kinds: ReadonlyMap<string, DestinationKind<Destination>> = new Map(
  DESTINATIONS.map((kind) => [kind.type, kind]),
);

/** @throws Error for a type that is none: what is stored was checked */
function getKind({ type }: Destination): DestinationKind<Destination> {
  const kind = kinds.get(type);
  if (kind === undefined) throw new Error(`There is no destination ${type}`);
  return kind;
}

/** @returns where it is, for people; nothing of it is secret */
export const describeDestination = (one: Destination): string => getKind(one).describe(one);

/** @returns what the schema cannot say is wrong, for the details of a refusal */
export function checkDestinations(sent: readonly Destination[]): string[] {
  const places = sent.map(placeOf);
  return sent.flatMap((one, at) => {
    const problems = Object.entries(getKind(one).check(one)).flatMap(([option, problem]) =>
      problem === undefined ? [] : [`/destinations/${at}/${option}: ${problem}`],
    );
    const first = places.indexOf(places[at] ?? '');
    return first === at ? problems : [...problems, `/destinations/${at}: is the same place as ${first}`];
  });
}

function placeOf(one: Destination): string {
  const { type, secrets, accountOf } = getKind(one);
  return JSON.stringify([type, secrets.sentTo(one), accountOf(one), pathIn(one.folder, '')]);
}

/** @returns them as they may be shown and stored: *** in place of what is secret */
export const maskDestinations = (list: readonly Destination[]): Destination[] =>
  list.map((one) => maskMembers(one, getKind(one).secrets));

/** @returns what is secret of each, to be sealed; undefined when nothing is, or it is masked */
export function secretsOf(list: readonly Destination[]): readonly (object | null)[] | undefined {
  const secrets = list.map((one) => pickSecrets(one, getKind(one).secrets) ?? null);
  return secrets.some((one) => one !== null) ? secrets : undefined;
}

/** @returns masked destinations with their secrets */
export const withSecrets = (
  masked: readonly Destination[],
  secrets: readonly (object | null)[],
): Destination[] => masked.map((one, at) => ({ ...one, ...secrets[at] }));

export const hasMasked = (list: readonly Destination[]): boolean =>
  list.some((one) => listMasked(one, getKind(one).secrets).length > 0);

/** @returns destinations with the values that were masked, or what is wrong, for the details of a refusal */
export function fillMasked(
  sent: readonly Destination[],
  stored: readonly Destination[],
): { readonly filled: readonly Destination[]; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const filled = sent.map((one, at) => {
    const { secrets } = getKind(one);
    const found = rankStored(one, at, stored)
      .map((known) => fillMembers(one, known, secrets))
      .find((whole) => whole !== undefined);
    if (found !== undefined) return found;
    const masked = listMasked(one, secrets);
    problems.push(...masked.map((member) => describeMasked(`/destinations/${at}/${member}`)));
    return one;
  });
  return { filled, problems };
}

/** Destinations have no name: first comes one of the same account, then one at the same place of the list. */
function rankStored(
  sent: Destination,
  place: number,
  stored: readonly Destination[],
): readonly (Destination | undefined)[] {
  const account = getKind(sent).accountOf(sent);
  const ranked = stored
    .map((one, at) => ({ one, at }))
    .filter(({ one }) => one.type === sent.type)
    .map(({ one, at }) => {
      const isSame = getKind(one).accountOf(one) === account;
      return { one, rank: (isSame ? 2 : 0) + (at === place ? 1 : 0) };
    })
    .sort((a, b) => b.rank - a.rank);
  return ranked.length === 0 ? [undefined] : ranked.map(({ one }) => one);
}

/** The caller closes it. @throws OutboundProblem */
export const openDestination = (one: Destination, via: Outbound): Promise<OpenedDestination> =>
  getKind(one).open(one, via);
