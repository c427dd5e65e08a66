import {
  type Channel,
  type ChannelDefinition,
  type ChannelDestination,
  type ChannelRelation,
  choices,
  type Relation,
  type Tagged,
} from '@relata/client';
import { rich, t } from '../languages/text.ts';
import { EditorPage, Stored, useEditor } from '../parts/definitions.tsx';
import {
  type Choice,
  Fields,
  NumberField,
  type Row,
  Rows,
  SelectField,
  SwitchField,
  TextField,
  useBinding,
} from '../parts/forms/field.tsx';
import { FilterEditor } from '../parts/forms/filter-editor.tsx';
import { OptionFields, startSchedule, TriggerFields } from '../parts/forms/option-field.tsx';
import { Card } from '../parts/page.tsx';
import { hintOf, labelOf, startTyped, translateLabel } from '../rules/choices.ts';
import { EVERY_PRODUCT } from '../rules/filters.ts';
import { capital } from '../rules/format.ts';
import { useAttributes, useRelations } from '../state/catalog.ts';
import { listMistakes, useMistake, useMistakeOf } from '../state/mistakes.ts';
import { projectLink } from '../state/route.ts';
import {
  CHANNEL,
  type ChannelShape,
  EMPTY_CHANNEL,
  findFormat,
  listFormats,
  listRelatedAs,
} from './channel-draft.ts';
import { MappingCard, PreviewCard, useChannelPreview } from './channel-mapping.tsx';

/** The form for a new or an existing channel. */
export const ChannelEditor = () => <Stored kind={CHANNEL}>{(stored) => <Editor stored={stored} />}</Stored>;

function Editor({ stored }: { stored: Tagged<Channel> | undefined }) {
  const editor = useEditor(CHANNEL, stored, EMPTY_CHANNEL);
  const { draft, change } = editor.edited;
  const tried = useChannelPreview(draft);
  const shape = { draft, onChange: change };
  return (
    <EditorPage
      what="channel"
      hasView
      stored={stored}
      editor={editor}
      canSave={draft.name !== ''}
      isTrying={!tried.isSettled}
      mistakes={listMistakes(tried.preview.error)}
    >
      <div className="builder">
        <Fields>
          <BasicsCard {...shape} />
          <FilterCard {...shape} />
          <RelationsCard {...shape} />
          <MappingCard {...shape} tried={tried} />
          <TriggerCard {...shape} />
          <DestinationsCard {...shape} />
          <GuardsCard {...shape} />
        </Fields>
        <aside className="stack wide scrolls" aria-label={t('Preview')}>
          <PreviewCard preview={tried.preview} />
        </aside>
      </div>
    </EditorPage>
  );
}

type Format = ChannelDefinition['format'];

export function BasicsCard({ draft, onChange }: ChannelShape) {
  const { format } = draft;
  const mistake = useMistake();
  const bind = useBinding(draft, onChange);
  const feedFormat = findFormat(format);
  // Formats have no fields in common.
  const setType = (type: string) =>
    onChange({ format: { type } as Format, mapping: undefined, changes: undefined });
  const setPacking = ({ compression: _, ...rest }: Format, compression: string) =>
    onChange({ format: compression === '' ? rest : { ...rest, compression: compression as 'gzip' } });
  return (
    <Card title={t('Channel')}>
      <div className="fields">
        <TextField label={t('Name')} maxLength={255} placeholder={'Google Shopping'} {...bind('name')} />
        <SelectField
          label={t('Format')}
          hint={feedFormat && capital(translateLabel(feedFormat.description))}
          choices={listFormats()}
          value={format.type}
          mistake={mistake('/format/type')}
          onChange={setType}
        />
        {feedFormat && feedFormat.variants.length > 1 && (
          <SelectField
            label={t('Variant')}
            choices={feedFormat.variants.map((variant) => [variant, variant.toUpperCase()])}
            value={format.variant ?? feedFormat.variants[0]}
            mistake={mistake('/format/variant')}
            onChange={(variant) => onChange({ format: { ...format, variant } })}
          />
        )}
        <SelectField
          label={t('Compression')}
          choices={[
            ['', t('As usual for the format')],
            ['none', t('Not packed')],
            ['gzip', t('Packed with gzip')],
          ]}
          value={format.compression ?? ''}
          mistake={mistake('/format/compression')}
          onChange={(value) => setPacking(format, value)}
        />
        {feedFormat?.takesChanges && (
          <SwitchField
            label={t('Only changes')}
            hint={t(
              'A build contains the rows that changed since the previous build, and the rows of deleted products.',
            )}
            value={draft.changes}
            onChange={(changes) => onChange({ changes: changes || undefined })}
          />
        )}
      </div>
    </Card>
  );
}

export function FilterCard({ draft, onChange }: ChannelShape) {
  const attributes = useAttributes();
  const refused = useMistake()('/filter');
  return (
    <Card title={t('Products to publish')}>
      <FilterEditor
        filter={draft.filter ?? EVERY_PRODUCT}
        attributes={attributes}
        onChange={(filter) => onChange({ filter })}
      />
      {refused && <p className="mistake small">{refused}</p>}
    </Card>
  );
}

type Trigger = NonNullable<ChannelDefinition['trigger']>;

const DEFAULT_SECONDS = 300;

function startTrigger(type: Trigger['type']): Trigger {
  if (type === 'schedule') return startSchedule();
  return type === 'change' ? { type, minSecondsBetween: DEFAULT_SECONDS } : { type };
}

export function TriggerCard({ draft, onChange }: ChannelShape) {
  const { trigger = { type: 'manual' } } = draft;
  return (
    <Card title={t('Trigger')}>
      <TriggerFields<Trigger, Trigger['type']>
        label={t('Builds start')}
        choices={[
          ['manual', t('By hand')],
          ['schedule', t('By schedule')],
          ['change', t('After changes of the catalog')],
        ]}
        trigger={trigger}
        start={startTrigger}
        pause={[t('Seconds between two builds'), t('Changes in between are published together.')]}
        onChange={(next) => onChange({ trigger: next })}
      />
    </Card>
  );
}

export function GuardsCard({ draft, onChange }: ChannelShape) {
  const bind = useBinding(draft, onChange);
  return (
    <Card title={t('Limits')}>
      <div className="fields">
        <NumberField
          label={t('Maximum loss of rows, in %')}
          hint={t('A build that would lose a larger share of the published rows is not published.')}
          {...bind('maxDeletePercent')}
        />
        <NumberField
          label={t('Maximum left out, in %')}
          hint={t('A build in which more products lack what the format requires is not published.')}
          {...bind('maxLeftOutPercent')}
        />
      </div>
    </Card>
  );
}

const NEW_RELATION: ChannelRelation = { as: 'accessory', limit: 10 };

/** Writes a tag or an id as one value, so that a single list offers both. */
const writeChoice = ({ tag, id }: Pick<ChannelRelation, 'tag' | 'id'>) => {
  if (tag !== undefined) return `tag:${tag}`;
  return id === undefined ? '' : `id:${id}`;
};

function readChoice(choice: string): Pick<ChannelRelation, 'tag' | 'id'> {
  if (choice.startsWith('tag:')) return { tag: choice.slice(4) };
  return choice === '' ? {} : { id: Number(choice.slice(3)) };
}

/** Tags come first, because a channel with a tag also includes relations that are created later. */
function listChoices(relations: readonly Relation[], present: string): Choice[] {
  const tags = [...new Set(relations.map(({ tag }) => tag))];
  const choices: Choice[] = [
    ['', '—'],
    ...tags.map((tag) => [`tag:${tag}`, t('Tag: {tag}', { tag })] as const),
    ...relations.map(({ id, name }) => [`id:${id}`, name] as const),
  ];
  const isKnown = choices.some(([value]) => value === present);
  return isKnown
    ? choices
    : [...choices, [present, t('{relation} (deleted)', { relation: present.replace(':', ' ') })]];
}

/** Selects the related products to publish, and their form. Source: docs/interface §16.1 rule 4. */
export function RelationsCard({ draft, onChange }: ChannelShape) {
  const { data: relations } = useRelations();
  const chosen = draft.relations ?? [];
  return (
    <Card title={t('Related products')}>
      {chosen.length === 0 && (
        <p className="soft">{t('None: products are published without related products.')}</p>
      )}
      <Rows
        values={chosen}
        removing={t('Remove this relation')}
        kinds={relations?.length === 0 ? {} : { [t('Relation')]: NEW_RELATION }}
        onChange={(next) => onChange({ relations: [...next] })}
      >
        {(row) => <RelationRow {...row} relations={relations ?? []} />}
      </Rows>
      {relations?.length === 0 && (
        <p className="soft small">
          {rich('This project has no relation yet. <link>Create one</link> first.', {
            link: projectLink('relations'),
          })}
        </p>
      )}
    </Card>
  );
}

interface RowShape extends Row<ChannelRelation> {
  readonly relations: readonly Relation[];
}

function RelationRow({ index, value: relation, relations, change, remove }: RowShape) {
  const mistake = useMistake();
  const { tag: _, id: __, ...rest } = relation;
  const present = writeChoice(relation);
  const isFollowing = index > 0;
  return (
    <div className="filter-row related">
      <SelectField
        label={t('Relation')}
        isQuiet={isFollowing}
        choices={listChoices(relations, present)}
        value={present}
        mistake={mistake(`/relations/${index}`)}
        onChange={(choice) => change({ ...readChoice(choice), ...rest })}
      />
      <SelectField
        label={t('Published as')}
        isQuiet={isFollowing}
        choices={listRelatedAs()}
        value={relation.as}
        onChange={(as) => change({ ...relation, as })}
      />
      <NumberField
        label={t('At most')}
        isQuiet={isFollowing}
        value={relation.limit}
        onChange={(limit) => change({ ...relation, limit })}
      />
      {remove}
    </div>
  );
}

const listNewDestinations = () =>
  Object.fromEntries(
    choices.ChannelDestination.map(({ type, label }) => [
      translateLabel(label),
      startTyped('ChannelDestination', type) as ChannelDestination,
    ]),
  );
/** The maximum number of destinations. Source: docs/interface §16.8 rule 1. */
const MOST = 5;

/** Servers and buckets that receive each build, in addition to its URL. */
export function DestinationsCard({ draft, onChange }: ChannelShape) {
  const chosen = draft.destinations ?? [];
  return (
    <Card title={t('Destinations')}>
      {chosen.length === 0 && (
        <p className="soft">{t('None: the files are at the URL of the channel only.')}</p>
      )}
      <Rows
        values={chosen}
        removing={t('Remove this destination')}
        kinds={chosen.length < MOST ? listNewDestinations() : {}}
        onChange={(next) => onChange({ destinations: [...next] })}
      >
        {(row) => <Destination {...row} />}
      </Rows>
    </Card>
  );
}

function Destination({ index, value: destination, change, remove }: Row<ChannelDestination>) {
  const path = `/destinations/${index}`;
  const refused = useMistakeOf(path);
  return (
    <fieldset className="stack tried-row">
      <legend className="label">
        {index + 1}. {labelOf('ChannelDestination', destination)}
      </legend>
      <p className="soft small">{hintOf('ChannelDestination', destination)}.</p>
      {refused && <p className="mistake small">{refused}</p>}
      <div className="fields">
        <OptionFields<ChannelDestination>
          kind="ChannelDestination"
          part={destination}
          path={path}
          onChange={change}
        />
      </div>
      <div className="row">{remove}</div>
    </fieldset>
  );
}
