/** The environment that a server gives to its child processes. */

/**
 * The variables that Node and the libraries behind it read, and no more: the rest of the server's environment, secrets
 * among it, is none of its business. Its settings are its task.
 */
const environmentNames: ReadonlySet<string> = new Set([
  'PATH',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'NODE_OPTIONS',
  'UV_THREADPOOL_SIZE',
  'LD_LIBRARY_PATH',
  'LD_PRELOAD',
  'DYLD_LIBRARY_PATH',
  'MALLOC_ARENA_MAX',
  // Windows has these; its names have no case.
  'SYSTEMROOT',
  'TEMP',
  'TMP',
]);

/** Set to `true`, msgpackr loads no native module: it reads this variable as it loads. */
export const msgpackWithoutNative = 'MSGPACKR_NATIVE_ACCELERATION_DISABLED';

export function childEnvironment(): NodeJS.ProcessEnv {
  const isGiven = (name: string): boolean =>
    environmentNames.has(process.platform === 'win32' ? name.toUpperCase() : name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isGiven(name)));
}
