import { type ChannelDestination, choices } from '@relata/client';
import { t } from '../languages/text.ts';
import { OptionFields } from '../parts/forms/option-field.tsx';
import { type Row, Rows } from '../parts/forms/rows.tsx';
import { Card } from '../parts/page.tsx';
import { hintOf, labelOf, sayOf, startTyped } from '../rules/choices.ts';
import { useMistakeOf } from '../state/mistakes.ts';
import type { ChannelShape } from './channel-draft.ts';

/** By the words of the button that adds one. */
const listNewDestinations = () =>
  Object.fromEntries(
    choices.ChannelDestination.map(({ type, label }) => [
      sayOf(label),
      startTyped('ChannelDestination', type) as ChannelDestination,
    ]),
  );
/** Source: docs/interface.md §16.8 rule 1. */
const MOST = 5;

/** Servers and buckets that each build is delivered to, beside its URL. */
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

function Destination({ at, value: destination, change, remove }: Row<ChannelDestination>) {
  const place = `/destinations/${at}`;
  const refused = useMistakeOf(place);
  return (
    <fieldset className="stack tried-row">
      <legend className="label">
        {at + 1}. {labelOf('ChannelDestination', destination)}
      </legend>
      <p className="soft small">{hintOf('ChannelDestination', destination)}.</p>
      {refused && <p className="mistake small">{refused}</p>}
      <div className="fields">
        <OptionFields<ChannelDestination>
          kind="ChannelDestination"
          part={destination}
          place={place}
          onChange={change}
        />
      </div>
      <div className="row">{remove}</div>
    </fieldset>
  );
}
