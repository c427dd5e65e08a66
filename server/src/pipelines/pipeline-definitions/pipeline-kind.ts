import { isDeepStrictEqual } from 'node:util';
import {
  checkSchedule,
  type DefinitionKind,
  findNextRun,
  type SecretPart,
  sealDefinition,
  sealedColumnOf,
} from '../../definitions/definitions.ts';
import { getInputFormat } from '../../formats/formats.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { describeMasked } from '../../outbound/outbound.ts';
import { makeToken } from '../../projects/projects.ts';
import type { Secrets } from '../../storage/secrets/secrets.ts';
import type { Database } from '../../storage/storage.ts';
import type { CheckedTexts, TextChecks, TextProblems } from '../mapping/expressions/expressions.ts';
import {
  type CompiledMapping,
  isOfPairs,
  type Mapping,
  MappingProblem,
  type PipelineMode,
  planMapping,
} from '../mapping/mapping.ts';
import {
  checkSource,
  listMaskedMembers,
  maskSource,
  type Source,
  secretsOf,
  unmaskSource,
} from '../sources/sources.ts';
import type {
  Pipeline,
  PipelineDefinition,
  PipelineState,
  SentPipeline,
  SentPreview,
  TriedDefinition,
  Trigger,
} from './pipeline-schemas.ts';
import { listUnsealed, PIPELINES, RUNS } from './pipeline-store.ts';

/** The secrets of the source, for a stored or a tried definition. */
export const PIPELINE_SECRETS: SecretPart<PipelineDefinition> = {
  column: sealedColumnOf('pipeline'),
  mask: (definition) => ({ ...definition, source: maskSource(definition.source) }),
  pick: ({ source }) => secretsOf(source),
  restore: (masked, picked: object) => ({ ...masked, source: { ...masked.source, ...picked } }),
  hasMasked: ({ source }) => listMaskedMembers(source).length > 0,
  fill: (sent, stored) => fillSource(sent, stored?.source),
};

/** Source: docs/interface §13.1. */
export const pipelineKind = (
  clock: Clock,
  textChecks: TextChecks,
): DefinitionKind<SentPipeline, PipelineDefinition, PipelineState> => ({
  type: 'pipeline',
  store: PIPELINES,
  check: (sent, { accountId }, signal) =>
    checkPipeline(sent, { now: clock.now(), checkTexts: textChecks({ accountId, signal }) }),
  createState: () => ({ triggerId: makeToken(), stamp: undefined }),
  changeState: ({ definition, state }, after) =>
    isDeepStrictEqual(readingOf(definition), readingOf(after)) ? state : { ...state, stamp: undefined },
  secrets: PIPELINE_SECRETS,
  trigger: {
    of: ({ trigger }) => trigger,
    planNext: ({ trigger }, now) => (trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined),
  },
  runs: { ...RUNS, busy: 'pipeline_busy' },
});

/** The part of a definition that determines the products. */
const readingOf = ({ source, format, mapping, mode }: PipelineDefinition) => [source, format, mapping, mode];

const PAGE = 500;

/**
 * Seals the headers that versions before 0.2 stored unsealed.
 * @returns the number of pipelines that are still unsealed because no key exists
 */
export async function sealPlainSources(database: Database, secrets: Secrets): Promise<number> {
  let plainCount = 0;
  for (let page = await listUnsealed(database.read, 0, PAGE); page.length > 0; ) {
    const plain = page.filter(({ definition }) => secretsOf(definition.source) !== undefined);
    if (secrets.canSeal) for (const pipeline of plain) await sealStored(database, secrets, pipeline);
    else plainCount += plain.length;
    page = await listUnsealed(database.read, page.at(-1)?.id ?? 0, PAGE);
  }
  return plainCount;
}

/** Rereads the pipeline, because another process may have changed it since. */
function sealStored(database: Database, secrets: Secrets, { projectId, id }: Pipeline): Promise<void> {
  return database.write(projectId, async (tx) => {
    const pipeline = await PIPELINES.find(tx, { id: projectId }, id);
    if (pipeline !== undefined && pipeline.sealed === undefined)
      await PIPELINES.update(tx, sealDefinition(PIPELINE_SECRETS, pipeline, secrets));
  });
}

/** The maximum number of mistakes that a refusal lists. */
const SHOWN = 20;

/** Checks the patterns and expressions of a mapping in another process. */
type CheckTexts = (texts: CheckedTexts) => Promise<TextProblems>;

/**
 * Checks rules that a schema cannot express. Source: docs/interface §13.1.
 * @param now for the schedule
 * @returns the definition with its defaults; masked secrets of its source are not filled in yet
 * @throws request_invalid that names every mistake with its path
 */
async function checkPipeline(
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
    maxDeletePercent: sent.maxDeletePercent ?? 30,
    onRejectedRow: sent.onRejectedRow ?? 'stop',
    minProducts: sent.minProducts ?? 1,
  };
}

/** Checks a definition for a preview, which suggests a mapping if the definition has none. @throws request_invalid */
export async function checkTried(sent: SentPreview, checkTexts: CheckTexts): Promise<TriedDefinition> {
  const { source, format, mapping, mode = 'full' } = sent;
  refuse([...checkSource(source), ...(await checkMapping(mapping, mode, checkTexts))]);
  return { source, format, ...(mapping !== undefined && { mapping }), mode };
}

/** Fills in the secrets of the source that an answer masked. @throws request_invalid if there are none */
export function fillSource<Sent extends { readonly source: Source }>(
  sent: Sent,
  stored: Source | undefined,
): Sent {
  const source = unmaskSource(sent.source, stored);
  if (source !== undefined) return { ...sent, source };
  throw refusal(listMaskedMembers(sent.source).map((member) => describeMasked(`/source/${member}`)));
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw refusal(problems);
}

const refusal = (problems: readonly string[]) =>
  new ServiceError('request_invalid', { details: problems.slice(0, SHOWN) });

/** Ignores fields that the service adds to a trigger in its answers. */
function readTrigger(sent: SentPipeline['trigger']): Trigger {
  if (sent.type !== 'webhook') return sent;
  return { type: 'webhook', minSecondsBetween: sent.minSecondsBetween ?? 3_600 };
}

/** The parts that definitions of pairs have, by mode. */
const PAIRS = {
  links: { need: 'links need', parts: 'source and targets', place: 'relationId' },
  table: { need: 'a table needs', parts: 'source and target', place: 'tableName' },
} as const;

function checkNeedOfMapping({ format: { type }, mapping, mode }: SentPipeline): string[] {
  const { mapping: need } = getInputFormat(type);
  const isMissing = mapping === undefined;
  if (isOfPairs(mode)) {
    const pairs = PAIRS[mode];
    if (need === 'none')
      return [`/mode: a ${type} file contains products, but ${pairs.need} a format with columns`];
    return isMissing ? [`/mapping: is needed in mode ${mode}, with ${pairs.parts}`] : [];
  }
  if (need === 'none')
    return isMissing ? [] : [`/mapping: must be left out, because a ${type} file already contains products`];
  if (!isMissing || need !== 'needed') return [];
  return [`/mapping: is needed for the format ${type}, which has no default mapping`];
}

/** Whether the relation exists is checked only by a run, because the relation may be created later. */
function checkPlaces({ mode, ...sent }: SentPipeline): string[] {
  return Object.entries(PAIRS).flatMap(([own, { place: member }]) => {
    const isThere = sent[member] !== undefined;
    if (mode === own) return isThere ? [] : [`/${member}: is needed in mode ${own}`];
    return isThere ? [`/${member}: must be left out except in mode ${own}`] : [];
  });
}

async function checkMapping(mapping: Mapping | undefined, mode: PipelineMode, checkTexts: CheckTexts) {
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

/** @returns JSON pointers to the invalid texts, and the reasons */
function* listPlaces(part: unknown, path: string, problems: TextProblems): Generator<string, undefined> {
  if (typeof part !== 'object' || part === null) return;
  for (const [key, value] of Object.entries(part)) {
    const below = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const problem = typeof value === 'string' ? kindOf(part, key, problems)?.get(value) : undefined;
    if (problem !== undefined) yield `${below}: ${problem}`;
    yield* listPlaces(value, below, problems);
  }
}

/** An attribute may be named `from`, but then no column beside it has `regex: true`. */
function kindOf(
  part: { readonly regex?: unknown; readonly operator?: unknown },
  key: string,
  { expressions, patterns }: TextProblems,
): ReadonlyMap<string, string> | undefined {
  if (key === 'expression') return expressions;
  if (key === 'from') return part.regex === true ? patterns : undefined;
  return key === 'value' && part.operator === 'matches' ? patterns : undefined;
}
