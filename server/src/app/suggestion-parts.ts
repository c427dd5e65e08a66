import type { Catalog } from '../catalog/catalog.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Projects } from '../projects/projects.ts';
import type { Relations } from '../relations/relations.ts';
import type { Storage } from '../storage/storage.ts';
import { createSuggestions, type Suggestions } from '../suggestions/suggestions.ts';

export interface SuggestionNeeds {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly projects: Projects;
  readonly catalog: Catalog;
  readonly relations: Relations;
}

export function openSuggestions({ storage, projects, ...needs }: SuggestionNeeds): Suggestions {
  const suggestions = createSuggestions({ ...needs, projects, database: storage.database });
  projects.whenGone(async (tx, { type, id }) => {
    if (type === 'project') await suggestions.removeOf(tx, id);
  });
  return suggestions;
}
