import { AppError } from '../../shared/errors.ts';
import { canAsk } from './output.ts';
import { askSecret } from './prompts.ts';
import { inputFault } from './stdin.ts';

/** Longer than any secret, even with typing mistakes. The rest of the input is not read. */
const MAX_CHARACTERS = 1_000;

/**
 * Reads a secret from a hidden prompt, or from stdin if that is no terminal, and trims it. `label` is what the prompt asks
 * for. Throws `cancelled`, and `usage` if the terminal would show what is typed, or stdin can't be read.
 */
export async function readSecret(label: string): Promise<string> {
  if (canAsk()) {
    return (await askSecret(label)).trim();
  }
  // Without a prompt the terminal would show the secret while it is typed or pasted.
  if (process.stdin.isTTY) throw new AppError('usage', 'The hidden prompt needs stderr to be the terminal too.');
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of process.stdin) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      if (text.length > MAX_CHARACTERS) break;
    }
  } catch (error) {
    throw inputFault(error);
  }
  return text.trim();
}
