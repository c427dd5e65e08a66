import { ServiceError } from '../../kernel/errors.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import type { DeletedPage, ListedRow } from '../port.ts';
import type { ChosenSession } from './full-update-store.ts';
import { refuseOther, type SessionChoice } from './session-choice.ts';
import { stageAccepted } from './stage-accepted.ts';
import type { Staging } from './staging.ts';

/**
 * Previews of a commit, which read the staged batches of the open full update. Source: docs/interface §4.4 rules 10,
 * 11 and 28.
 */
export class StagedPreview {
  private readonly parts: CatalogParts;
  private readonly staging: Staging;
  private readonly choice: SessionChoice;

  constructor(parts: CatalogParts, staging: Staging, choice: SessionChoice) {
    this.parts = parts;
    this.staging = staging;
    this.choice = choice;
  }

  /** @returns the numbers of products that a commit would change @throws the refusals of `SessionChoice.getShown` */
  compare(projectId: number, chosen: ChosenSession, withIdentifiers: boolean) {
    return this.read(projectId, chosen, (fullUpdateId) =>
      this.parts.store.compareStaged(projectId, { fullUpdateId, withIdentifiers }),
    );
  }

  /**
   * Lists products that a commit would delete, in the order of their identifiers.
   * @throws the refusals of `SessionChoice.getShown`
   */
  listDeleted(
    projectId: number,
    chosen: ChosenSession,
    page: Omit<DeletedPage, 'fullUpdateId'>,
  ): Promise<readonly ListedRow[]> {
    return this.read(projectId, chosen, (fullUpdateId) =>
      this.parts.store.listDeleted(projectId, { ...page, fullUpdateId }),
    );
  }

  /**
   * Stages missing batches and reads them all. If another call discards the full update at the same time, the work
   * fails or finds nothing.
   * @throws the refusals of `SessionChoice.getShown`
   */
  private async read<Result>(
    projectId: number,
    chosen: ChosenSession,
    read: (fullUpdateId: number) => Promise<Result>,
  ): Promise<Result> {
    const { id } = await this.choice.getShown(projectId, chosen);
    const stillOpen = async () => refuseOther(await this.choice.getAny(projectId), id);
    const staged = stageAccepted(this.parts, this.staging, { projectId, id }).then(() => read(id));
    const result = await staged.catch(async (error: unknown) => {
      // A missing payload was removed together with its full update.
      if (!(error instanceof ServiceError) || error.code === 'payload_damaged') await stillOpen();
      throw error;
    });
    await stillOpen();
    return result;
  }
}
