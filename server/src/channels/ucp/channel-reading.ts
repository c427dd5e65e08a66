import { viewUpload } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { OpenGroups } from '../../search/hits/hits.ts';
import type { FindGroups, GroupQuestion } from '../../search/search.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import { type ChannelDefinition, compileChannelFilter } from '../channel-definitions/channel-definitions.ts';
import { isForEverybody } from '../field-mapping/field-mapping.ts';
import { CATEGORY_LEVEL, openVariants, type UcpVariant } from './ucp-product.ts';
import type { UcpUse } from './ucp-schemas.ts';

/** The limits of one question. */
export const LIMITS = {
  /** At this limit a page ends early, and the next page continues after it. */
  search: { bytes: 32 * 1024 * 1024, ms: 1_000 },
  /** Beyond this limit the question is refused. */
  named: { bytes: 128 * 1024 * 1024, ms: 3_000 },
} as const;
/** The maximum number of members of a group that are read. */
export const MEMBERS = 100;
/** The number of uploads in memory at a time, of up to 2 MB each. */
const AT_ONCE = 8;

interface UcpQuestion<Asked> {
  readonly definition: ChannelDefinition;
  readonly asked: Asked;
}

export interface UcpOrder<Asked> {
  readonly projectId: number;
  readonly allowIncomplete: 'never' | 'far' | 'most';
  readonly question: UcpQuestion<Asked>;
}

export class IndexMissing extends Error {}

export interface ReadGroup {
  readonly id: string;
  readonly variants: readonly UcpVariant[];
  /** Whether the limit was reached before all members were read. */
  readonly isCut: boolean;
}

/** Reads groups of a channel's products, within the limit of one question. */
export class ChannelReading {
  readonly definition: ChannelDefinition;
  readonly state = { isBehind: false, isComplete: true };
  private readonly findGroups: FindGroups;
  private readonly order: UcpOrder<unknown>;
  private readonly limit: UcpUse;
  private readonly budget: Budget;
  private readonly begunAt = performance.now();
  private bytes = 0;

  constructor(
    findGroups: FindGroups,
    order: UcpOrder<unknown>,
    { limit, budget }: { readonly limit: UcpUse; readonly budget: Budget },
  ) {
    this.findGroups = findGroups;
    this.order = order;
    this.definition = order.question.definition;
    this.limit = limit;
    this.budget = budget;
  }

  get use(): UcpUse {
    return { bytes: this.bytes, ms: performance.now() - this.begunAt };
  }

  get isSpent(): boolean {
    const { bytes, ms } = this.use;
    return bytes >= this.limit.bytes || ms >= this.limit.ms;
  }

  /**
   * @returns the answer that `use` makes of the groups that are found; `use` also receives a function that reads one of
   * them
   */
  async find<Answer>(
    {
      categories = [],
      ...question
    }: Omit<GroupQuestion, 'filters' | 'filter'> & {
      readonly categories?: readonly string[];
    },
    use: (found: OpenGroups, read: (documents: readonly number[]) => Promise<ReadGroup>) => Promise<Answer>,
  ): Promise<Answer> {
    const { projectId, allowIncomplete } = this.order;
    const values = categories.map((category) => category.replaceAll(CATEGORY_LEVEL, '#'));
    const filters = values.length === 0 ? [] : [{ name: 'category', values }];
    const narrowed = { ...question, filters, filter: JSON.stringify(this.definition.filter) };
    const outcome = await this.findGroups(
      { projectId, allowIncomplete, question: narrowed },
      (found) => {
        this.bytes += found.bytes;
        return use(found, this.openGroup(found));
      },
      this.budget,
    );
    if ('missing' in outcome) throw new IndexMissing(outcome.missing);
    this.state.isBehind ||= outcome.isBehind;
    this.state.isComplete &&= outcome.isComplete;
    return outcome.answer;
  }

  /** @returns a function that reads the published members of a group, as far as the limit allows */
  private openGroup({ attributes, read }: OpenGroups) {
    const { definition } = this;
    const test = compileChannelFilter(definition.filter, attributes);
    const toVariant = openVariants(definition, attributes);
    const make = (product: UploadedProduct): UcpVariant | undefined =>
      isForEverybody(product) && test(viewUpload(product)) ? toVariant(product) : undefined;
    return async (documents: readonly number[]): Promise<ReadGroup> => {
      let start = 0;
      const members: { readonly id: string; readonly variant: UcpVariant | undefined }[] = [];
      for (; start < documents.length && (start === 0 || !this.isSpent); start += AT_ONCE) {
        this.budget.check();
        for (const { product, bytes } of await read(documents.slice(start, start + AT_ONCE))) {
          this.bytes += bytes;
          members.push({ id: product.groupIdentifier, variant: make(product) });
        }
      }
      const id = members[0]?.id ?? '';
      const variants = members.flatMap((member) => (member.id === id ? (member.variant ?? []) : []));
      return { id, variants, isCut: start < documents.length };
    };
  }
}

/**
 * @returns the complete groups that these identifiers or group ids name @throws request_invalid if they are too large
 */
export async function resolve(reading: ChannelReading, ids: readonly string[]) {
  const whole = { offset: 0, limit: MEMBERS };
  if (ids.length === 0) return { groups: [] as ReadGroup[], isPartial: false };
  const groupIds = await reading.find({ named: ids, ...whole }, ({ groups, nameGroups }) =>
    nameGroups(groups.flatMap(([first]) => first ?? [])),
  );
  if (groupIds.length === 0) return { groups: [] as ReadGroup[], isPartial: false };
  return reading.find({ named: groupIds, ...whole }, async (found, read) => {
    const groups = await readEach(reading, found, read);
    return { groups: groups.filter(({ variants }) => variants.length > 0), isPartial: found.isPartial };
  });
}

/** @throws request_invalid when the limit is reached before all groups are read */
async function readEach(
  reading: ChannelReading,
  { groups }: OpenGroups,
  read: (documents: readonly number[]) => Promise<ReadGroup>,
): Promise<ReadGroup[]> {
  const complete: ReadGroup[] = [];
  for (const documents of groups) {
    const group = complete.length > 0 && reading.isSpent ? undefined : await read(documents);
    if (group === undefined || group.isCut) throw new ServiceError('request_invalid', TOO_MUCH);
    complete.push(group);
  }
  return complete;
}

const TOO_MUCH = `the named products are larger than one request may read, ${LIMITS.named.bytes / 1024 / 1024} MiB in ${LIMITS.named.ms / 1_000} s; send fewer ids`;
