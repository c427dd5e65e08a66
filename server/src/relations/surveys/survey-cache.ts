import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { RelationSurvey } from '../relation-definitions/relation-definitions.ts';

/** Limits in characters, for all cached surveys together and for one survey. Most surveys have 5,000. */
const SURVEYS = { most: 8 * 1024 * 1024, longest: 1024 * 1024 };

interface CachedSurvey {
  readonly version: number;
  readonly survey: RelationSurvey;
  readonly characters: number;
}

/**
 * Caches surveys of stored relations. A survey takes up to seconds and remains valid until its catalog
 * changes.
 */
export class SurveyCache {
  private readonly cached = new BoundedMap<string, CachedSurvey>({
    most: SURVEYS.most,
    weigh: ({ characters }) => characters,
  });

  /**
   * @param version the version of the catalog
   * @returns the cached survey of this version, or a new one from `make`
   */
  async read(name: string, version: number, make: () => Promise<RelationSurvey>): Promise<RelationSurvey> {
    const cached = this.cached.get(name);
    if (cached?.version === version) return cached.survey;
    const survey = await make();
    const { length: characters } = JSON.stringify(survey);
    if (survey.endedEarly !== true && characters <= SURVEYS.longest)
      this.cached.set(name, { version, survey, characters });
    return survey;
  }
}
