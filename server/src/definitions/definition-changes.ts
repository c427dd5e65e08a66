import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../kernel/errors.ts';
import type { Resources } from '../projects/projects.ts';
import type { Secrets } from '../storage/secrets/secrets.ts';
import {
  type Base,
  type Chosen,
  type ControlTransaction,
  type Database,
  readNow,
} from '../storage/storage.ts';
import type {
  Defined,
  DefinitionKind,
  InProject,
  SentChange,
  Shown,
  ShownDefinition,
} from './definition-kind.ts';
import type { DefinitionViews } from './definition-views.ts';
import { openStored, type Sealable, type SecretPart, sealDefinition } from './sealed-definitions.ts';

/** How many resources of one kind a project can have. */
const MOST = 1_000;

interface ChangeParts<Definition extends { readonly name: string }, State, Seen>
  extends Pick<Base, 'clock' | 'secrets'> {
  readonly database: Database;
  readonly resources: Resources<Defined<Definition, State>, InProject>;
  readonly views: DefinitionViews<Definition, State, Seen>;
}

type SentDefinition<Definition, State, Seen> = SentChange<ShownDefinition<Definition, State, Seen>>;

interface Times {
  /** Read from the clock of the database. */
  readonly now: number;
  readonly updatedAt: number;
}

/** Checks, seals, schedules and writes the changes of resources of a kind, and returns each as answers show it. */
export class DefinitionChanges<Sent, Definition extends { readonly name: string }, State, Seen> {
  private readonly parts: ChangeParts<Definition, State, Seen>;
  private readonly kind: DefinitionKind<Sent, Definition, State, Seen>;

  constructor(
    parts: ChangeParts<Definition, State, Seen>,
    kind: DefinitionKind<Sent, Definition, State, Seen>,
  ) {
    this.parts = parts;
    this.kind = kind;
  }

  /** @throws request_invalid, rate_limited */
  async create(
    sent: SentDefinition<Definition, State, Seen>,
    body: Sent,
  ): Promise<ShownDefinition<Definition, State, Seen>> {
    const { kind } = this;
    const checked = await kind.check(body, sent.place, sent.signal);
    const definition = kind.secrets?.fill(checked, undefined) ?? checked;
    const created = await this.parts.resources.create(writerOf(sent), async (tx) => {
      const { store, type } = kind;
      if ((await store.count(tx, { projectId: sent.place.id })) >= MOST) {
        const most = MOST.toLocaleString('en');
        throw new ServiceError(
          'request_invalid',
          `a project can have at most ${most} ${type}s: delete one first`,
        );
      }
      return { after: await this.insert(tx, sent.place, definition) };
    });
    return toShown(created);
  }

  /** @throws not_found, request_invalid, rate_limited, changed_meanwhile */
  replace(
    sent: SentDefinition<Definition, State, Seen>,
    chosen: Chosen,
    body: Sent,
  ): Promise<ShownDefinition<Definition, State, Seen>> {
    return this.change(sent, { ...chosen, what: 'changed' }, async () => {
      const checked = await this.kind.check(body, sent.place, sent.signal);
      return (before, times) => this.toReplaced(before, checked, times);
    });
  }

  /**
   * Changes the state that the kind records, such as the token of an address.
   * @param what the action in the audit log
   * @throws not_found
   */
  renew(
    sent: SentDefinition<Definition, State, Seen>,
    chosen: { readonly id: number; readonly what: string },
    toNext: (state: State) => State,
  ): Promise<ShownDefinition<Definition, State, Seen>> {
    return this.change(sent, chosen, async () => (before, { updatedAt }) => ({
      ...before,
      state: toNext(before.state),
      updatedAt,
    }));
  }

  /** @throws not_found, changed_meanwhile, and `busy` of the kind while a run is open */
  async remove(sent: SentDefinition<Definition, State, Seen>, chosen: Chosen): Promise<void> {
    const { kind } = this;
    const follow = await this.parts.resources.remove(writerOf(sent), chosen, async (tx, resource) => {
      if (kind.runs && (await kind.runs.hasOpen(tx, resource))) throw new ServiceError(kind.runs.busy);
      return kind.removing?.(tx, resource);
    });
    await follow?.();
  }

  /** @returns the new resource with its secrets sealed */
  private async insert(
    tx: ControlTransaction,
    { id: projectId }: InProject,
    definition: Definition,
  ): Promise<Defined<Definition, State>> {
    const { clock, database, secrets } = this.parts;
    const { secrets: part, store, trigger } = this.kind;
    const dueAt = trigger?.planNext(definition, await readNow(tx, database));
    const createdAt = clock.now();
    const added: Defined<Definition, State> = {
      id: 0,
      projectId,
      definition: part?.mask(definition) ?? definition,
      sealed: undefined,
      revision: 1,
      dueAt,
      state: this.kind.createState(),
      createdAt,
      updatedAt: createdAt,
    };
    const inserted = await store.insert(tx, { ...store.toColumns(added), projectId, createdAt });
    // Sealing binds a secret to the id of its row, which the insert has just created.
    const after = sealWith(part, { ...inserted, definition }, secrets);
    if (after.sealed !== undefined) await store.update(tx, after);
    return after;
  }

  private async change(
    sent: SentDefinition<Definition, State, Seen>,
    chosen: Chosen & { readonly what: string },
    toNext: () => Promise<(before: Defined<Definition, State>, times: Times) => Defined<Definition, State>>,
  ): Promise<ShownDefinition<Definition, State, Seen>> {
    const { clock, database, resources, views } = this.parts;
    const shown = await views.get(sent.place, chosen.id);
    const plan = await toNext();
    const resource = await resources.change(writerOf(sent, shown), chosen, async (tx, before) => {
      const updatedAt = Math.max(clock.now(), before.updatedAt + 1);
      return { after: plan(before, { now: await readNow(tx, database), updatedAt }) };
    });
    return toShown(resource, shown);
  }

  /** @param checked the new definition, with *** for each secret that stays the same. @throws secret_unreadable */
  private toReplaced(
    before: Defined<Definition, State>,
    checked: Definition,
    times: Times,
  ): Defined<Definition, State> {
    const { secrets } = this.parts;
    const { secrets: part } = this.kind;
    const isNeeded = part?.hasMasked(checked) ?? false;
    const stored = part ? openStored(part, before, { secrets, isNeeded }) : before.definition;
    const definition = part?.fill(checked, stored) ?? checked;
    // A change that changes nothing keeps the ETag (§7.6 rule 1).
    if (isDeepStrictEqual(stored, definition)) return before;
    return sealWith(part, this.plan({ ...before, definition: stored }, definition, times), secrets);
  }

  /** Keeps the planned time if the trigger is the same: a rename a second before a run must not skip the run. */
  private plan(
    before: Defined<Definition, State>,
    definition: Definition,
    { now, updatedAt }: Times,
  ): Defined<Definition, State> {
    const { trigger } = this.kind;
    const isSamePlan = isDeepStrictEqual(trigger?.of(before.definition), trigger?.of(definition));
    const dueAt = (isSamePlan ? before.dueAt : undefined) ?? trigger?.planNext(definition, now);
    const revision = before.revision + 1;
    const state = this.kind.changeState(before, definition);
    return { ...before, definition, revision, dueAt, state, updatedAt };
  }
}

function sealWith<Definition, Resource extends Sealable<Definition>>(
  part: SecretPart<Definition> | undefined,
  resource: Resource,
  secrets: Secrets,
): Resource {
  return part === undefined ? resource : sealDefinition(part, resource, secrets);
}

const toShown = <Resource, Seen>(
  resource: Resource,
  { lastRun, seen }: Partial<Shown<Resource, Seen>> = {},
): Shown<Resource, Seen> => ({ resource, lastRun, seen });

/** @param shown the last run and other content that the answer shows with the resource */
const writerOf = <Resource, Seen>(
  { author, beside, place }: SentChange<Shown<Resource, Seen>>,
  shown?: Shown<Resource, Seen>,
) => ({
  author,
  place,
  beside: async (tx: ControlTransaction, resource: Resource) => beside?.(tx, toShown(resource, shown)),
});
