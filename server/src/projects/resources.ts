import type { Scope } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Chosen, ControlTransaction, Database, Rows, WriteScope } from '../storage/storage.ts';
import { refuseOtherState } from '../storage/storage.ts';
import { type AuditLog, type Change, describeChange } from './audit-store.ts';
import { type Author, type ListPage, type PageRequest, readPagePosition, toPage } from './project.ts';
import type { Store } from './resource-store.ts';

/** Runs in the transaction of a write, for example to store its answer. */
export type Beside<Subject> = (tx: ControlTransaction, subject: Subject) => Promise<void>;

/** Describes a kind: rows in a table, ETags of their states, and entries in the audit log. */
interface Kind<Resource extends { readonly id: number }, Place> {
  readonly store: Store<Resource, Place>;
  /** The scope of the write lock of a change; default: `all`. */
  lockOf?(place: Place): WriteScope;
  /** Runs before anything is read, and refuses callers that have no access to the kind. */
  refuse?(place: Place): void;
  /** Runs before a change reads anything, and refuses authors that cannot change any resource of the kind. */
  refuseWriter?(author: Author): void;
  /** Runs next, in the transaction, and refuses an author that has lost the right since the request arrived. */
  refuseFormer?(tx: ControlTransaction, author: Author): Promise<void>;
  /** Runs last, and refuses authors that cannot change or remove this resource. */
  refuseOf?(author: Author, resource: Resource): void;
  /** @returns the state mark for `If-Match`; a kind without this function has no ETags. Source: docs/interface §7.6. */
  markOf?(resource: Resource): string;
  /** The audit entry of a resource. Actions begin with its type, such as `pipeline.created`. */
  audit(resource: Resource): Pick<Change, 'projectId' | 'subject'>;
  /** The fields whose changes the audit log describes; they contain no secrets. */
  show(resource: Resource): object;
  /** The details of a deleted resource in the audit log, besides its name. */
  showDeleted?(resource: Resource): Change['details'];
}

/** The audit entry of a resource with a scope. Keys of that project or group can see the entry. */
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

/** @returns a writer that can change every resource within reach of the author */
export const asWriter = <Reaching extends Author>(author: Reaching) => ({ author, place: author });

export interface Planned<Resource> {
  readonly after: Resource;
  /** The details in the audit log; default: the differences. */
  readonly details?: Change['details'];
  /** The resource to return, unless it is the changed one. */
  readonly answered?: Resource;
}

export interface ResourceParts {
  readonly database: Database;
  readonly projects: Pick<AuditLog, 'recordChange'>;
  /** Runs when a change is durable, before the answer is sent. */
  readonly onWritten?: () => void;
}

/** Reads and changes resources of a kind. Each change is one transaction with its audit entry and its answer. */
export class Resources<Resource extends { readonly id: number }, Place> {
  private readonly parts: ResourceParts;
  private readonly kind: Kind<Resource, Place>;

  constructor(parts: ResourceParts, kind: Kind<Resource, Place>) {
    this.parts = parts;
    this.kind = kind;
  }

  /** Writes an audit entry. @param what the part of the action after the type */
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

  /** Ordered by id. @throws query_invalid */
  async list(place: Place, request: PageRequest): Promise<ListPage<Resource>> {
    this.kind.refuse?.(place);
    const page = readPagePosition(request);
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

  /** @param plan can write other rows. @throws not_found, changed_meanwhile */
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

  /** @param removing refuses, or removes the rows that belong to the resource. @throws not_found, changed_meanwhile */
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

  /** @throws not_found, changed_meanwhile, and the refusals of the kind */
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
