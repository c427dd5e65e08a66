import type { Scope } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Chosen, ControlTransaction, Database, Rows, WriteScope } from '../storage/storage.ts';
import { refuseOtherState } from '../storage/storage.ts';
import { type AuditLog, type Change, describeChange } from './audit-store.ts';
import { type Author, type ListPage, type PageRequest, readPlace, toPage } from './project.ts';
import type { Store } from './resource-store.ts';

/** Runs in the transaction of a write, e.g. to store its answer beside it. */
export type Beside<Subject> = (tx: ControlTransaction, subject: Subject) => Promise<void>;

/** The common part of all kinds: rows in a table, ETags of their states, entries in the audit log. */
interface Kind<Resource extends { readonly id: number }, Place> {
  readonly store: Store<Resource, Place>;
  /** What a change locks; default: all other changes. */
  lockOf?(place: Place): WriteScope;
  /** Called first, before anything is read: refuses callers who may do nothing with the kind. */
  refuse?(place: Place): void;
  /** Called before a change reads anything: refuses authors who may change nothing of the kind. */
  refuseWriter?(author: Author): void;
  /** Then, in its transaction: refuses an author who has lost the right since the request came. */
  refuseFormer?(tx: ControlTransaction, author: Author): Promise<void>;
  /** Then refuses authors who may not change or remove this resource. */
  refuseOf?(author: Author, resource: Resource): void;
  /** Names a state for `If-Match`; a kind without it has no ETag. Source: docs/interface §7.6. */
  markOf?(resource: Resource): string;
  /** The audit entry of a resource; actions begin with the type, as `pipeline.created`. */
  audit(resource: Resource): Pick<Change, 'projectId' | 'subject'>;
  /** The fields whose changes the audit log describes; none is secret. */
  show(resource: Resource): object;
  /** What the audit log says about a deleted resource besides its name. */
  showDeleted?(resource: Resource): Change['details'];
}

/** For a resource with a scope: keys of its project or group see the entry. */
export const auditScoped = (subject: Change['subject'], scope: Scope) =>
  scope.type === 'project'
    ? { projectId: scope.id, subject }
    : { subject: scope.type === 'account' ? subject : { ...subject, projectGroupId: scope.id } };

export interface Writer<Resource, Place> {
  readonly author: Author;
  readonly place: Place;
  /** Runs in the transaction of the change, to store its answer for an `Idempotency-Key`. */
  readonly beside?: Beside<Resource> | undefined;
}

/** @returns a writer for what its author reaches */
export const asWriter = <Reaching extends Author>(author: Reaching) => ({ author, place: author });

export interface Planned<Resource> {
  readonly after: Resource;
  /** For the audit log; default: the differences. */
  readonly details?: Change['details'];
  /** The resource to answer, if it is not the changed one. */
  readonly answered?: Resource;
}

export interface ResourceParts {
  readonly database: Database;
  readonly projects: Pick<AuditLog, 'recordChange'>;
  /** Runs when a change is durable, before it is answered. */
  readonly onWritten?: () => void;
}

/** The lifecycle of a kind: each change is one transaction with its audit entry and its answer. */
export class Resources<Resource extends { readonly id: number }, Place> {
  private readonly parts: ResourceParts;
  private readonly kind: Kind<Resource, Place>;

  constructor(parts: ResourceParts, kind: Kind<Resource, Place>) {
    this.parts = parts;
    this.kind = kind;
  }

  /** Writes an audit entry. @param what the action, which follows the type */
  record(
    tx: ControlTransaction,
    author: Author,
    {
      what,
      resource,
      details,
    }: { what: string; resource: Resource; details?: Change['details'] | undefined },
  ): Promise<void> {
    const { subject, projectId } = this.kind.audit(resource);
    const change = { author, action: `${subject.type}.${what}`, subject };
    return this.parts.projects.recordChange(
      { ...change, ...(projectId !== undefined && { projectId }), ...(details && { details }) },
      tx,
    );
  }

  /** @throws not_found */
  async get(place: Place, id: number): Promise<Resource> {
    this.kind.refuse?.(place);
    return this.getIn(this.parts.database.read, place, id);
  }

  /** @throws not_found */
  async getIn(rows: Rows, place: Place, id: number): Promise<Resource> {
    const resource = await this.kind.store.find(rows, place, id);
    if (resource === undefined) throw new ServiceError('not_found');
    return resource;
  }

  /** By id. @throws query_invalid */
  async list(place: Place, request: PageRequest): Promise<ListPage<Resource>> {
    this.kind.refuse?.(place);
    const page = readPlace(request);
    return toPage(await this.kind.store.list(this.parts.database.read, place, page), page);
  }

  /** @param insert writes the rows */
  create(
    writer: Writer<Resource, Place>,
    insert: (tx: ControlTransaction) => Promise<Planned<Resource>>,
  ): Promise<Resource> {
    return this.write(writer, async (tx) => {
      const { after: resource, details } = await insert(tx);
      await this.record(tx, writer.author, { what: 'created', resource, details });
      await writer.beside?.(tx, resource);
      return resource;
    });
  }

  /** @param plan may write other rows @throws not_found, changed_meanwhile */
  change(
    writer: Writer<Resource, Place>,
    { what, ...chosen }: Chosen & { readonly what: string },
    plan: (tx: ControlTransaction, before: Resource) => Promise<Planned<Resource>>,
  ): Promise<Resource> {
    const { kind } = this;
    return this.write(writer, async (tx) => {
      const before = await this.getOwn(tx, writer, chosen);
      const { after, answered = after, details } = await plan(tx, before);
      await kind.store.update(tx, after);
      await this.record(tx, writer.author, {
        what,
        resource: after,
        details: details ?? describeChange(kind.show(before), kind.show(after)),
      });
      await writer.beside?.(tx, answered);
      return answered;
    });
  }

  /** @param removing refuses, or removes what belongs to the resource @throws not_found, changed_meanwhile */
  remove<Result>(
    writer: Writer<Resource, Place>,
    chosen: Chosen,
    removing: (tx: ControlTransaction, resource: Resource) => Promise<Result> = async () =>
      undefined as Result,
  ): Promise<Result> {
    const { kind } = this;
    return this.write(writer, async (tx) => {
      const resource = await this.getOwn(tx, writer, chosen);
      const result = await removing(tx, resource);
      await kind.store.remove(tx, resource);
      await this.record(tx, writer.author, {
        what: 'deleted',
        resource,
        details: kind.showDeleted?.(resource),
      });
      await writer.beside?.(tx, resource);
      return result;
    });
  }

  private async write<Result>(
    { author, place }: Writer<Resource, Place>,
    work: (tx: ControlTransaction) => Promise<Result>,
  ): Promise<Result> {
    const { kind } = this;
    const { database, onWritten } = this.parts;
    kind.refuse?.(place);
    kind.refuseWriter?.(author);
    const written = await database.write(kind.lockOf?.(place) ?? 'all', async (tx) => {
      await kind.refuseFormer?.(tx, author);
      return work(tx);
    });
    onWritten?.();
    return written;
  }

  /** @throws not_found, changed_meanwhile, and what the kind refuses */
  private async getOwn(
    tx: ControlTransaction,
    { author, place }: Writer<Resource, Place>,
    { id, expected }: Chosen,
  ): Promise<Resource> {
    const resource = await this.getIn(tx, place, id);
    this.kind.refuseOf?.(author, resource);
    if (this.kind.markOf) refuseOtherState(expected, this.kind.markOf(resource));
    return resource;
  }
}
