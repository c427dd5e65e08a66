import { type KeyboardEvent, useId, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { SelectField } from '../parts/forms/field.tsx';
import { Answer } from '../parts/page.tsx';
import { Code } from '../parts/show.tsx';
import { useRelations } from '../state/catalog.ts';
import { projectLink, useRoute } from '../state/route.ts';
import { listPageCalls, type PageCall, SAMPLES, type SampleLanguage } from './page-calls.ts';
import { needsRelations } from './paged.ts';

const LANGUAGES = Object.keys(SAMPLES) as SampleLanguage[];

/** The calls of the current page, each in three languages. */
export function CallSamples() {
  const route = useRoute();
  const isNeeded = needsRelations(route);
  const relations = useRelations(isNeeded);
  const [chosen, setChosen] = useState(0);
  return (
    <Answer of={isNeeded ? relations : { data: [], error: undefined }}>
      {(known) => {
        const calls = listPageCalls(route, known);
        const call = calls[chosen] ?? calls[0];
        if (call === undefined)
          return <p className="soft">{t('This page shows nothing that is stored yet.')}</p>;
        return (
          <div className="stack">
            {calls.length > 1 && (
              <SelectField
                label={t('What it gives')}
                choices={calls.map(({ words }, at) => [String(at), words])}
                value={String(calls.indexOf(call))}
                onChange={(value) => setChosen(Number(value))}
              />
            )}
            <LanguageTabs call={call} />
            <p className="soft small">
              {rich(
                'It takes the address of the service in <code>RELATA_URL</code> and a key in <code>RELATA_API_KEY</code>: <link>API access</link>.',
                { link: projectLink('api-access') },
              )}
            </p>
          </div>
        );
      }}
    </Answer>
  );
}

/** The library's tabs would add 3 KB. Arrow keys choose, as they do there. */
function LanguageTabs({ call }: { call: PageCall }) {
  const id = useId();
  const [chosen, choose] = useState<SampleLanguage>('curl');
  const onKeyDown = ({ key, currentTarget }: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: LANGUAGES.length - 1 }[key];
    if (step === undefined) return;
    const next = (LANGUAGES.indexOf(chosen) + step) % LANGUAGES.length;
    choose(LANGUAGES[next] ?? chosen);
    currentTarget.querySelectorAll('button')[next]?.focus();
  };
  return (
    <div className="stack">
      <div className="tabs" role="tablist" aria-label={t('Language of the sample')} onKeyDown={onKeyDown}>
        {LANGUAGES.map((language) => (
          <button
            key={language}
            type="button"
            role="tab"
            id={`${id}-${language}`}
            className="tab"
            aria-selected={language === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={language === chosen ? 0 : -1}
            onClick={() => choose(language)}
          >
            {language}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`}>
        <Code text={SAMPLES[chosen](call)} label={`${call.words}: ${chosen}`} />
      </div>
    </div>
  );
}
