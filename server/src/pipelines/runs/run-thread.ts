import { createSources, type SourceSettings } from '../sources/sources.ts';
import { type PreviewOrder, previewSource } from './run-preview.ts';
import { type ReadEvent, type ReadingParts, type ReadOrder, readSource } from './run-reading.ts';

export interface RunThreadParts {
  readonly sources: SourceSettings;
  readPiece: ReadingParts['readPiece'];
}

/** What the thread of a run can do: read one source step by step, or the beginning of one. */
export function runThreadOperations({ sources: settings, readPiece }: RunThreadParts) {
  const parts: ReadingParts = { sources: createSources(settings), tempDir: settings.tempDir, readPiece };
  let reading: AsyncGenerator<ReadEvent> | undefined;
  return {
    open(order: ReadOrder) {
      reading = readSource(parts, order);
      return {};
    },
    /** The next step; undefined behind the last. */
    next: async () => ({ output: (await reading?.next())?.value as ReadEvent | undefined }),
    /** Lets go of a source that is not read to its end. */
    async close() {
      await reading?.return(undefined);
      reading = undefined;
      return {};
    },
    preview: async (order: PreviewOrder) => ({ output: await previewSource(parts, order) }),
  };
}
