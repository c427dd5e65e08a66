/** Checks of a definition that a schema cannot express. Source: docs/interface.md §13.1. */
import { checkSchedule } from '../../definitions/definitions.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { describeMasked } from '../../outbound/outbound.ts';
import { getFormat } from '../formats/formats.ts';
import type { CheckedTexts, TextProblems } from '../mapping/expressions/expressions.ts';
import {
  type CompiledMapping,
  isOfPairs,
  type Mapping,
  MappingProblem,
  type PipelineMode,
  planMapping,
} from '../mapping/mapping.ts';
import { checkSource, listMaskedMembers, type Source, unmaskSource } from '../sources/sources.ts';
import type {
  PipelineDefinition,
  SentPipeline,
  SentPreview,
  TriedDefinition,
  Trigger,
} from './pipeline-schemas.ts';

const DEFAULT_MIN_SECONDS = 3_600;
const DEFAULT_DELETE_PERCENT = 30;
/** A refusal lists at most so many mistakes. */
const SHOWN = 20;

/** Checks the patterns and expressions of a mapping in another process. */
export type CheckTexts = (texts: CheckedTexts) => Promise<TextProblems>;

/**
 * @param now for the schedule
 * @returns the definition with its defaults; masked secrets of its source are not filled in yet
 * @throws request_invalid that names every mistake with its path
 */
export async function checkPipeline(
  sent: SentPipeline,
  { now, checkTexts }: { readonly now: number; readonly checkTexts: CheckTexts },
): Promise<PipelineDefinition> {
  const { name, source, format, mapping, mode = 'full', relationId, tableName } = sent;
  const trigger = readTrigger(sent.trigger);
  refuse([
    ...checkSource(source),
    ...checkNeedOfMapping(sent),
    ...checkPlaces(sent),
    ...(await checkMapping(mapping, mode, checkTexts)),
    ...(trigger.type === 'schedule' ? checkSchedule(trigger, now) : []),
  ]);
  return {
    name,
    source,
    format,
    ...(mapping !== undefined && { mapping }),
    mode,
    ...(relationId !== undefined && { relationId }),
    ...(tableName !== undefined && { tableName }),
    trigger,
    maxDeletePercent: sent.maxDeletePercent ?? DEFAULT_DELETE_PERCENT,
    onRejectedRow: sent.onRejectedRow ?? 'stop',
    minProducts: sent.minProducts ?? 1,
  };
}

/** The same for a preview; without a mapping one is suggested. @throws request_invalid */
export async function checkTried(sent: SentPreview, checkTexts: CheckTexts): Promise<TriedDefinition> {
  const { source, format, mapping, mode = 'full' } = sent;
  refuse([...checkSource(source), ...(await checkMapping(mapping, mode, checkTexts))]);
  return { source, format, ...(mapping !== undefined && { mapping }), mode };
}

/**
 * Fills in the secrets of the source that an answer masked.
 * @throws request_invalid where there is no value to fill in
 */
export function fillSource<Sent extends { readonly source: Source }>(
  sent: Sent,
  stored: Source | undefined,
): Sent {
  const source = unmaskSource(sent.source, stored);
  if (source === undefined) {
    throw refusal(listMaskedMembers(sent.source).map((member) => describeMasked(`/source/${member}`)));
  }
  return { ...sent, source };
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw refusal(problems);
}

const refusal = (problems: readonly string[]) =>
  new ServiceError('request_invalid', { details: problems.slice(0, SHOWN) });

/** Fields that the service adds to a trigger in its answers are ignored. */
function readTrigger(sent: SentPipeline['trigger']): Trigger {
  if (sent.type !== 'webhook') return sent;
  return { type: 'webhook', minSecondsBetween: sent.minSecondsBetween ?? DEFAULT_MIN_SECONDS };
}

/** What definitions of pairs have, by their modes. */
const PAIRS = {
  links: { need: 'links need', parts: 'source and targets', place: 'relationId' },
  table: { need: 'a table needs', parts: 'source and target', place: 'tableName' },
} as const;

function checkNeedOfMapping({ format: { type }, mapping, mode }: SentPipeline): string[] {
  const { mapping: need } = getFormat(type);
  const isMissing = mapping === undefined;
  if (isOfPairs(mode)) {
    const pairs = PAIRS[mode];
    if (need === 'none') return [`/mode: a ${type} file holds products, ${pairs.need} a format with columns`];
    return isMissing ? [`/mapping: is needed in mode ${mode}, with ${pairs.parts}`] : [];
  }
  if (need === 'none')
    return isMissing ? [] : [`/mapping: must be left out: a ${type} file holds products already`];
  const isNeeded = isMissing && need === 'needed';
  return isNeeded ? [`/mapping: is needed for the format ${type}, which has none of its own`] : [];
}

/** Whether there is such a relation is seen by a run: it may be made later. */
function checkPlaces({ mode, ...sent }: SentPipeline): string[] {
  return Object.entries(PAIRS).flatMap(([own, { place }]) => {
    const isThere = sent[place] !== undefined;
    if (mode === own) return isThere ? [] : [`/${place}: is needed in mode ${own}`];
    return isThere ? [`/${place}: must be left out except in mode ${own}`] : [];
  });
}

async function checkMapping(
  mapping: Mapping | undefined,
  mode: PipelineMode,
  checkTexts: CheckTexts,
): Promise<string[]> {
  if (mapping === undefined) return [];
  if (!isOfPairs(mode) && mapping.identifier === undefined)
    return ['/mapping must have required properties identifier'];
  let planned: CompiledMapping;
  try {
    planned = planMapping(mapping, mode);
  } catch (error) {
    if (error instanceof MappingProblem) return [`/mapping: ${error.message}`];
    throw error;
  }
  const problems = await checkTexts(planned);
  if (problems.expressions.size + problems.patterns.size === 0) return [];
  return listPlaces(mapping, '/mapping', problems).take(SHOWN).toArray();
}

/** @returns JSON pointers to the texts that are wrong, and why */
function* listPlaces(part: unknown, path: string, problems: TextProblems): Generator<string, undefined> {
  if (typeof part !== 'object' || part === null) return;
  for (const [key, value] of Object.entries(part)) {
    const below = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const problem = typeof value === 'string' ? kindOf(part, key, problems)?.get(value) : undefined;
    if (problem !== undefined) yield `${below}: ${problem}`;
    yield* listPlaces(value, below, problems);
  }
}

/** An attribute may be called `from`, but no column beside it `regex: true`. */
function kindOf(
  part: { readonly regex?: unknown; readonly operator?: unknown },
  key: string,
  { expressions, patterns }: TextProblems,
): ReadonlyMap<string, string> | undefined {
  if (key === 'expression') return expressions;
  const isPattern =
    (key === 'from' && part.regex === true) || (key === 'value' && part.operator === 'matches');
  return isPattern ? patterns : undefined;
}
