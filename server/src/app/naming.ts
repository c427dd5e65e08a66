import type { ListNaming, NamingDefinition } from '../catalog/ontology/changes/changes.ts';
import type { Channels } from '../channels/channels.ts';
import { markOfDefined } from '../definitions/definitions.ts';
import type { Pipelines } from '../pipelines/pipelines.ts';
import { asWriter, type Projects } from '../projects/projects.ts';
import { markOfRelation } from '../relations/relation-definitions/relation-definitions.ts';
import type { Relations } from '../relations/relations.ts';

interface NamingParts {
  readonly projects: Projects;
  readonly relations: Relations;
  readonly channels: Channels;
  readonly pipelines: Pipelines;
}

/** A page with all resources of a kind, because a project can have at most 1,000. */
const ALL = { limit: 1_000 } as const;

/**
 * @returns a function that lists the definitions of a project with attribute names: relations, channels, pipelines,
 * settings
 */
export const createNaming =
  (parts: () => NamingParts): ListNaming =>
  async (project) => {
    const { projects, relations, channels, pipelines } = parts();
    const related = (await relations.list(project.id)).map((relation): NamingDefinition => {
      const { id, definition } = relation;
      const { name } = definition;
      return {
        kind: 'relation',
        id,
        name,
        definition,
        async replace(next, author) {
          const expected = [markOfRelation(relation)];
          await relations.replace(project, { id, expected, definition: next as typeof definition });
          const subject = { type: 'relation', id, name };
          await projects.recordChange({ author, projectId: project.id, action: 'relation.changed', subject });
        },
      };
    });
    const published = (await channels.list(project, ALL)).items.map(({ resource }): NamingDefinition => {
      const { id, definition } = resource;
      // Formats and destinations of a channel do not contain attribute names.
      const { name, filter, mapping } = definition;
      return {
        kind: 'channel',
        id,
        name,
        definition: { filter, mapping },
        replace: (next, author) =>
          channels.replace({ author, place: project }, { id, expected: [markOfDefined(resource)] }, {
            ...definition,
            ...next,
          } as Parameters<Channels['replace']>[2]),
      };
    });
    // A pipeline has no `replace`: its source keeps sending the old name, so with a new mapping products would have
    // values under both names.
    const fed = (await pipelines.list(project, ALL)).items.map(({ resource }): NamingDefinition => {
      const { id, definition } = resource;
      return { kind: 'pipeline', id, name: definition.name, definition: { mapping: definition.mapping } };
    });
    const settings: NamingDefinition = {
      kind: 'project',
      id: project.id,
      name: project.name,
      definition: await projects.getSettings(project.id),
      replace: (next, author) =>
        projects.changeProject(asWriter(author), { id: project.id }, { settings: next }),
    };
    return [...related, ...published, ...fed, settings];
  };
