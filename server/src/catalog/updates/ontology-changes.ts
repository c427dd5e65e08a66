import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Author } from '../../projects/projects.ts';
import { refuseOtherState } from '../../storage/storage.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import {
  applyRenames,
  checkOntology,
  isInPlace,
  isSameOntology,
  listUses,
  markOfOntology,
  type RequestedAttribute,
  type RequestedOntology,
} from '../ontology/changes/changes.ts';
import type { SentAttribute, SentOntology } from '../ontology/ontology.ts';
import type { ReExtraction, Renamed } from './re-extraction.ts';

interface SentChange extends SentOntology, Pick<RequestedOntology, 'expected'> {
  readonly author: Author;
  /** Whether the request has an idempotency key without a stored answer. */
  readonly mayBeRepeated: boolean;
}

/** Changes of the ontology. A re-extraction follows each of them. Source: docs/interface §11.5. */
export class OntologyChanges {
  private readonly parts: CatalogParts;
  private readonly reExtraction: ReExtraction;

  constructor(parts: CatalogParts, reExtraction: ReExtraction) {
    this.parts = parts;
    this.reExtraction = reExtraction;
  }

  /** @returns `changed` is false if nothing differs @throws changed_meanwhile */
  async replace(project: ChosenProject, { mayBeRepeated, author, ...sent }: SentChange) {
    const { attributes, renames } = await this.rename(project, sent.attributes);
    const requested = { ...sent, attributes };
    checkOntology(requested);
    const renamed = { renames, author, project };
    try {
      return await this.replaceExpected(project, requested, renamed);
    } catch (error) {
      const isOtherState = error instanceof ServiceError && error.code === 'changed_meanwhile';
      if (!mayBeRepeated || !isOtherState) throw error;
      // The answer is stored after the ontology, in another transaction. If only the answer was lost, this
      // caller has made the change.
      const present = await this.parts.store.getOntology(project.id);
      if (!isInPlace(present, requested)) throw error;
      // The audit entry is stored together with the answer, so it is missing too.
      return { ontology: present, changed: true };
    }
  }

  /**
   * @returns the attribute after the change, and for a rename the definitions that name it
   * @throws request_invalid
   */
  async planRename(project: ChosenProject, sent: SentAttribute) {
    const { attributes, renames } = await this.rename(project, [sent]);
    const attribute = attributes[0] as RequestedAttribute;
    if (sent.renameTo === undefined) return { attribute };
    return { attribute, uses: listUses(await this.parts.listNaming(project), renames) };
  }

  /** Reads the present attributes only for a request that renames one. @throws request_invalid */
  private async rename({ id }: ChosenProject, attributes: readonly SentAttribute[]) {
    const isRenaming = attributes.some(({ renameTo }) => renameTo !== undefined);
    const present = isRenaming ? (await this.parts.store.getOntology(id)).attributes : [];
    return applyRenames(present, attributes);
  }

  private async replaceExpected(project: ChosenProject, requested: RequestedOntology, renamed: Renamed) {
    const { store, tasks } = this.parts;
    const present = await store.getOntology(project.id);
    // The store compares again in its transaction. Comparing here saves a task that would extract nothing.
    refuseOtherState(requested.expected, markOfOntology(present));
    // The store compares the stored form. This only saves a task if a client sends back the ontology that it read.
    if (isSameOntology(present, requested)) return { ontology: present, changed: false };
    // Accepts the task before the change. A crash after a change without a task would leave no report and outdated
    // relations. The task is held until the ontology is stored. If the task ran before that, another one is accepted.
    const isRenaming = Object.keys(renamed.renames).length > 0;
    const task = await this.reExtraction.hold(project, isRenaming ? { renamed } : {});
    try {
      const replaced = await store.replaceOntology(project.id, requested);
      if (isRenaming) await this.reExtraction.followRenames(renamed);
      return replaced;
    } finally {
      if (!(await tasks.release(task))) await this.reExtraction.start(project);
    }
  }
}
