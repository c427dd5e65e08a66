import { createSources } from '../sources/sources.ts';
import type { RunThreadData } from './run-client.ts';
import { type PreviewOrder, previewSource } from './run-preview.ts';
import { type ReadEvent, type ReadingParts, type ReadOrder, readSource } from './run-reading.ts';

/** The operations of a run's thread. The thread reads one source step by step, or only its beginning for a preview. */
export function runThreadOperations({
  sources: settings,
  readPiece,
}: Pick<RunThreadData, 'sources'> & Pick<ReadingParts, 'readPiece'>) {
  const parts: ReadingParts = { sources: createSources(settings), tempDir: settings.tempDir, readPiece };
  let reading: AsyncGenerator<ReadEvent> | undefined;
  return {
    open(order: ReadOrder) {
      reading = readSource(parts, order);
    },
    /** @returns the next step; undefined after the last one */
    next: async () => (await reading?.next())?.value as ReadEvent | undefined,
    /** Closes a source that was not read to its end. */
    async close() {
      await reading?.return(undefined);
      reading = undefined;
    },
    preview: (order: PreviewOrder) => previewSource(parts, order),
  };
}
