/** One kind of a thing that a definition chooses by its `type`, such as a format of pipelines, as a form shows it. */
export interface Choice<Type extends string = string> {
  readonly type: Type;
  readonly label: string;
  readonly description: string;
  /**
   * For a format: whether a definition must have a mapping, must not have one, or may have one because the format has a
   * default.
   */
  readonly mapping?: 'needed' | 'own' | 'none';
  /** For a format: the endings of the names of such files. */
  readonly endings?: readonly string[];
  readonly options: readonly ChoiceOption[];
}

export interface ChoiceOption {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly isNumber: boolean;
  /** Write-only: a single line, such as a password, or a text of several lines, such as a private key. */
  readonly secret?: 'line' | 'text';
  /** The possible or most common values. Empty if any value is possible. */
  readonly values: readonly string[];
}

/** A format of channels, with the fields of its files. */
export interface FeedFormat {
  readonly type: string;
  readonly label: string;
  readonly description: string;
  /** The first is the default. */
  readonly variants: readonly string[];
  /** Undefined if every name is a field. */
  readonly fields?: readonly FeedField[];
  /** Whether a file may contain only the changes. */
  readonly takesChanges?: boolean;
}

export interface FeedField {
  readonly name: string;
  readonly isRequired?: boolean;
  /** The words that it accepts. */
  readonly choices?: readonly string[];
}
