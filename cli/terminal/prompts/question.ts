/** A question that is answered with a text. */
export type TextQuestion = {
  message: string;
  /** A hint that is shown while nothing is typed. */
  hint: string;
  /** The text to begin with. */
  initial?: string;
  /** True if the text may have several lines: line ends in pasted text are kept. */
  isLong?: boolean;
  /** Checks the text: returns a sentence about what is wrong with it, or null. */
  fault: (text: string) => string | null;
};

/** One of several choices, with the text that is shown for it. */
export type Choice<T extends string> = { value: T; name: string };
