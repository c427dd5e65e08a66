import { randomInt } from 'node:crypto';
import type { RawBody } from '../../http/http.ts';
import type { PayloadFiles, PayloadWriter, ThreadPool } from '../../storage/storage.ts';
import type { Attribute } from '../ontology/ontology.ts';
import type { BodyForm, OnInvalid } from '../products/products.ts';
import { openBody } from './checked-body.ts';
import {
  type CheckInput,
  type CheckResult,
  describeChecked,
  type IngestSource,
  type UnknownNames,
} from './ingest-thread.ts';
import type { Extracted } from './product-extraction.ts';
import type { FollowedPage, ReviewedBatch } from './stored-uploads.ts';

/** The parsing threads as the serving thread sees them. */
export interface Ingest {
  /** Begins the payload of a body that is about to be received. */
  openPayload(projectId: number): PayloadWriter;
  /**
   * Checks a body and makes it durable, both at once.
   * @throws every refusal of docs/interface.md §7.3, storage_full; then nothing is kept
   */
  accept(projectId: number, body: RawBody, wanted: AcceptedForm): Promise<AcceptedBody>;
  findUnknownNames(projectId: number, source: IngestSource): Promise<UnknownNames>;
  extractProducts(projectId: number, source: IngestSource, drafts: readonly Attribute[]): Promise<Extracted>;
  extractPatches(projectId: number, source: IngestSource): Promise<Extracted>;
  /** Looks at a staged batch once more. */
  review(
    projectId: number,
    wanted: { fullUpdateId: number; batch: number; drafts: readonly Attribute[] },
  ): Promise<ReviewedBatch>;
  /** Looks at products whose facts follow an older ontology. */
  follow(projectId: number, after: number): Promise<FollowedPage>;
}

export interface AcceptedBody extends CheckResult {
  readonly source: IngestSource;
}

interface AcceptedForm {
  readonly form: BodyForm;
  readonly onInvalid?: OnInvalid;
}

interface BodyToCheck {
  readonly body: RawBody;
  readonly form: BodyForm;
  readonly handle: number;
  readonly onInvalid: OnInvalid;
}

/**
 * Bodies up to this size are checked where they arrive, 64 KiB in about a millisecond: a small update then never
 * queues behind a batch of 15 MB.
 */
const SMALL_BODY_BYTES = 64 * 1024;

export function createIngest(parts: { threads: ThreadPool; payloads: PayloadFiles; maxMib: number }): Ingest {
  const { threads, payloads, maxMib } = parts;
  /** Handles of a former process are in stored tasks and must not be taken for ours. */
  let nextHandle = randomInt(2 ** 40) * 1024;
  const run = <Output>(operation: string, projectId: number, input: object) =>
    threads.run<Output>(operation, { projectId, ...input }, { key: projectId });

  async function check(
    projectId: number,
    { body, form, handle, onInvalid }: BodyToCheck,
  ): Promise<CheckResult> {
    const { bytes, encoding } = body;
    const input: CheckInput = { handle, form, maxMib, onInvalid, bytes, encoding };
    if (bytes.length > SMALL_BODY_BYTES || encoding !== 'identity') {
      return threads.run<CheckResult>('check', input, { key: projectId, unordered: true });
    }
    return describeChecked(openBody(input, form));
  }

  const openPayload = (projectId: number) => payloads.open(projectId, `${(nextHandle++).toString(36)}.body`);

  return {
    openPayload,
    async accept(projectId, body, { form, onInvalid = 'refuse' }) {
      const handle = nextHandle++;
      const payload = body.payload ?? openPayload(projectId);
      const payloadName = payload.name;
      const [checked, written] = await Promise.allSettled([
        check(projectId, { body, form, handle, onInvalid }),
        payload.finish(body.bytes),
      ]);
      if (checked.status === 'fulfilled' && written.status === 'fulfilled') {
        return { ...checked.value, source: { handle, payloadName, encoding: body.encoding, maxMib, form } };
      }
      await payloads.remove(projectId, payloadName);
      throw checked.status === 'rejected' ? checked.reason : (written as PromiseRejectedResult).reason;
    },
    findUnknownNames: (projectId, source) => run('findUnknownNames', projectId, { source }),
    extractProducts: (projectId, source, drafts) => run('extractProducts', projectId, { source, drafts }),
    extractPatches: (projectId, source) => run('extractPatches', projectId, { source }),
    review: (projectId, wanted) => run('review', projectId, wanted),
    follow: (projectId, after) => run('follow', projectId, { after }),
  };
}
