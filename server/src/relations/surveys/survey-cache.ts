import type { RelationSurvey } from '../relation-definitions/relation-definitions.ts';

/** Limits in characters, of all remembered surveys and of a single one: most have 5,000. */
const SURVEYS = { most: 8 * 1024 * 1024, longest: 1024 * 1024 };

/** Surveys of stored relations, which take up to seconds and stay valid until their catalog changes. */
export class SurveyCache {
  private readonly cached = new Map<string, { readonly version: number; readonly survey: RelationSurvey }>();
  /** Includes replaced ones, until all are dropped. */
  private characters = 0;

  /** @param version of the catalog. @returns the survey of this version, from `make` unless it is remembered */
  async read(name: string, version: number, make: () => Promise<RelationSurvey>): Promise<RelationSurvey> {
    const known = this.cached.get(name);
    if (known?.version === version) return known.survey;
    const survey = await make();
    const { length } = JSON.stringify(survey);
    if (survey.endedEarly === true || length > SURVEYS.longest) return survey;
    if (this.characters + length > SURVEYS.most) {
      this.cached.clear();
      this.characters = 0;
    }
    this.characters += length;
    this.cached.set(name, { version, survey });
    return survey;
  }
}
