/** The secrets of a pipeline's source: sealed in a column of their own, with *** in the stored definition. */
import type { Database, SealedColumn, Secrets } from '../../storage/storage.ts';
import { maskSource, type Source, secretsOf, withSecrets } from '../sources/sources.ts';
import type { Pipeline } from './pipeline.ts';
import { findPipeline, listUnsealed, type PipelineKey, updatePipeline } from './pipeline-store.ts';

export const SEALED_SOURCES = {
  table: 'pipeline',
  column: 'secrets',
  key: ['project_id', 'id'],
} satisfies SealedColumn;

const placeOf = ({ projectId, id }: PipelineKey) => ({ ...SEALED_SOURCES, row: [projectId, id] });

/** @returns the source with its secrets. @throws secret_unreadable */
export function openSource({ definition: { source }, sealed, ...key }: Pipeline, secrets: Secrets): Source {
  return sealed === undefined
    ? source
    : withSecrets(source, JSON.parse(secrets.unseal(sealed, placeOf(key))) as object);
}

/** @returns the pipeline as it is stored. @throws secret_key_missing */
export function sealPipeline(pipeline: Pipeline, secrets: Secrets): Pipeline {
  const { definition } = pipeline;
  const own = secretsOf(definition.source);
  if (own === undefined) return { ...pipeline, sealed: undefined };
  return {
    ...pipeline,
    definition: { ...definition, source: maskSource(definition.source) },
    sealed: secrets.seal(JSON.stringify(own), placeOf(pipeline)),
  };
}

const PAGE = 500;

/**
 * Seals the headers that versions before 0.2 stored as they were sent.
 * @returns how many pipelines keep them so, because there is no key
 */
export async function sealPlainSources(database: Database, secrets: Secrets): Promise<number> {
  let kept = 0;
  for (let page = await listUnsealed(database.read, 0, PAGE); page.length > 0; ) {
    const plain = page.filter(({ definition }) => secretsOf(definition.source) !== undefined);
    if (secrets.canSeal) for (const pipeline of plain) await sealStored(database, secrets, pipeline);
    else kept += plain.length;
    page = await listUnsealed(database.read, page.at(-1)?.id ?? 0, PAGE);
  }
  return kept;
}

/** It may have been changed since, also by another process. */
function sealStored(database: Database, secrets: Secrets, key: PipelineKey): Promise<void> {
  return database.write(
    async (tx) => {
      const pipeline = await findPipeline(tx, key);
      if (pipeline?.sealed === undefined && pipeline !== undefined)
        await updatePipeline(tx, sealPipeline(pipeline, secrets));
    },
    { of: key.projectId },
  );
}
