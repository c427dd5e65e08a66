import { paging } from './page.ts';
import type { CallOptions, QueryOf, Transport } from './transport.ts';

/** Names the commit and its project. */
export interface CommitPlace {
  readonly projectId: number;
  readonly commitId: number;
}

/** Selects some of its changes. */
export type CommitChangesQuery = CallOptions & QueryOf<'getManagementProjectsByIdCommitsByCommitIdProducts'>;

const pathOf = ({ projectId, commitId }: CommitPlace) => ({ id: projectId, commitId });

/** The commits and deletes that can be undone. Source: docs/interface §14.8. */
export function createCommits({ call }: Transport) {
  return {
    /** The last one comes first. */
    list: (projectId: number, options: CallOptions = {}) =>
      call('getManagementProjectsByIdCommits', { path: { id: projectId } }, options),

    /** The products that a commit changed, before and after. */
    changes: (place: CommitPlace, { kind, signal, ...page }: CommitChangesQuery = {}) =>
      call(
        'getManagementProjectsByIdCommitsByCommitIdProducts',
        { path: pathOf(place), query: { ...paging(page), ...(kind && { kind }) } },
        signal ? { signal } : {},
      ),

    /** The effect of undoing this commit and all later ones. */
    previewRestore: (place: CommitPlace, options: CallOptions = {}) =>
      call('getManagementProjectsByIdCommitsByCommitIdRestorePreview', { path: pathOf(place) }, options),

    /** The commits that changed a product. */
    ofProduct: (projectId: number, identifier: string, options: CallOptions = {}) =>
      call(
        'getManagementProjectsByIdProductsByIdentifierCommits',
        { path: { id: projectId, identifier } },
        options,
      ),
  };
}
