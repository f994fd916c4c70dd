/** How to call this program from where it was called: what advice tells people to type next. */
import { fileURLToPath } from 'node:url';

const isCheckout = fileURLToPath(import.meta.url).endsWith('.ts');

/** The command line for `reveille <rest>`. */
export function reveilleCommand(rest: string): string {
  return `${isCheckout ? 'npm run -s reveille --' : 'reveille'} ${rest}`;
}
