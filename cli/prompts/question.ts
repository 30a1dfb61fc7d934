/** A question for a text. */
export type TextQuestion = {
  message: string;
  /** What is expected, shown while nothing is typed. */
  hint: string;
  /** What is there to begin with. */
  initial?: string;
  /** Whether the text may have several lines, which a paste then keeps. */
  isLong?: boolean;
  /** The rule itself, as the product checks it: a sentence that says what is wrong with a text, or null. */
  fault: (text: string) => string | null;
};

/** One of the answers to choose from, and what a person reads for it. */
export type Choice<T extends string> = { value: T; name: string };
