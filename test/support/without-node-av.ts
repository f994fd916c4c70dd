/** An environment in which the optional package is not installed, for a command that a test starts. */

const resolver = `
export async function resolve(specifier, context, next) {
  if (!specifier.startsWith('node-av')) return next(specifier, context);
  throw Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' });
}`;
const registration = `
import { register } from 'node:module';
register(${JSON.stringify(scriptUrl(resolver))});`;

export const withoutNodeAv: NodeJS.ProcessEnv = { NODE_OPTIONS: `--import=${scriptUrl(registration)}` };

function scriptUrl(script: string): string {
  return `data:text/javascript,${encodeURIComponent(script)}`;
}
