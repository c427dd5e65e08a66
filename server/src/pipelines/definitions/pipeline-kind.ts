import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  type DefinitionKind,
  findNextRun,
  type SecretPart,
  sealDefinition,
  sealedColumnOf,
} from '../../definitions/definitions.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Secrets } from '../../storage/secrets/secrets.ts';
import type { Database } from '../../storage/storage.ts';
import type { TextChecks } from '../mapping/expressions/expressions.ts';
import { listMaskedMembers, maskSource, secretsOf } from '../sources/sources.ts';
import { checkPipeline, fillSource } from './pipeline-check.ts';
import type { Pipeline, PipelineDefinition, PipelineState, SentPipeline } from './pipeline-schemas.ts';
import { listUnsealed, PIPELINES, RUNS } from './pipeline-store.ts';

/** Of a definition, or of one that is only tried: its source. */
export const PIPELINE_SECRETS: SecretPart<PipelineDefinition> = {
  column: sealedColumnOf('pipeline'),
  mask: (definition) => ({ ...definition, source: maskSource(definition.source) }),
  pick: ({ source }) => secretsOf(source),
  restore: (masked, picked: object) => ({ ...masked, source: { ...masked.source, ...picked } }),
  hasMasked: ({ source }) => listMaskedMembers(source).length > 0,
  fill: (sent, stored) => fillSource(sent, stored?.source),
};

/** 192 random bits. */
const TRIGGER_ID_BYTES = 24;
export const makeTriggerId = () => randomBytes(TRIGGER_ID_BYTES).toString('base64url');

/** Source: docs/interface.md §13.1. */
export const pipelineKind = ({
  clock,
  textChecks,
}: {
  readonly clock: Clock;
  readonly textChecks: TextChecks;
}): DefinitionKind<SentPipeline, PipelineDefinition, PipelineState> => ({
  type: 'pipeline',
  store: PIPELINES,
  check: (sent, { accountId }, signal) =>
    checkPipeline(sent, { now: clock.now(), checkTexts: textChecks({ accountId, signal }) }),
  createState: () => ({ triggerId: makeTriggerId(), stamp: undefined }),
  changeState: ({ definition, state }, after) =>
    isDeepStrictEqual(readingOf(definition), readingOf(after)) ? state : { ...state, stamp: undefined },
  secrets: PIPELINE_SECRETS,
  trigger: {
    of: ({ trigger }) => trigger,
    planNext: ({ trigger }, now) => (trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined),
  },
  runs: { ...RUNS, busy: 'pipeline_busy' },
});

/** What decides the products that a source makes. */
const readingOf = ({ source, format, mapping, mode }: PipelineDefinition) => [source, format, mapping, mode];

const PAGE = 500;

/**
 * Seals the headers that versions before 0.2 stored as they were sent.
 * @returns how many pipelines still have them so, because there is no key
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

/** It may have been changed since, also by another process. */
function sealStored(database: Database, secrets: Secrets, { projectId, id }: Pipeline): Promise<void> {
  return database.write(projectId, async (tx) => {
    const pipeline = await PIPELINES.find(tx, { id: projectId }, id);
    if (pipeline !== undefined && pipeline.sealed === undefined)
      await PIPELINES.update(tx, sealDefinition(PIPELINE_SECRETS, pipeline, secrets));
  });
}
