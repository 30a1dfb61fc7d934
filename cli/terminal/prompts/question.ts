/** A question that is answered with a text. */
export type TextQuestion = {
  message: string;
  /** Shown while nothing is typed. */
  hint: string;
  /** The text to start with. */
  initial?: string;
  /** Whether the text may have several lines: line ends in pasted text are kept. */
  isLong?: boolean;
  /** Returns a sentence about what is wrong with the text, or null. */
  fault: (text: string) => string | null;
};

/** One of several choices, and its text. */
export type Choice<T extends string> = { value: T; name: string };
