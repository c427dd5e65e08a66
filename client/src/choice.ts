/** One kind of a thing that a definition chooses by its `type`, e.g. a format of pipelines, as a form shows it. */
export interface Choice<Type extends string = string> {
  readonly type: Type;
  readonly label: string;
  readonly description: string;
  /** Of a format: whether a definition has to bring a mapping, must not, or may, since the format has its own. */
  readonly mapping?: 'needed' | 'own' | 'none';
  /** Of a format: how names of such files end. */
  readonly endings?: readonly string[];
  readonly options: readonly ChoiceOption[];
}

export interface ChoiceOption {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly isNumber: boolean;
  /** Write-only: a line, such as a password, or a text of several, such as a private key. */
  readonly secret?: 'line' | 'text';
  /** What can be chosen, or is chosen mostly; empty where anything can. */
  readonly values: readonly string[];
}

/** A format of channels, with what may stand in its files. */
export interface FeedFormat {
  readonly type: string;
  readonly label: string;
  readonly description: string;
  /** The first is the default. */
  readonly variants: readonly string[];
  /** Undefined where every name is a field. */
  readonly fields?: readonly FeedField[];
  /** Whether a file may have only what changed. */
  readonly takesChanges?: boolean;
}

export interface FeedField {
  readonly name: string;
  readonly isRequired?: boolean;
  /** The words that it takes. */
  readonly choices?: readonly string[];
}
