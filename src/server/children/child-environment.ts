/** The environment of child processes. */

/**
 * Variables that Node and its libraries read. A child gets no other part of the server's environment, which may hold secrets; its
 * settings are in its task.
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
  // For Windows, where names are case-insensitive.
  'SYSTEMROOT',
  'TEMP',
  'TMP',
]);

/** Set to `true`, it keeps msgpackr from loading its native module. */
export const msgpackWithoutNative = 'MSGPACKR_NATIVE_ACCELERATION_DISABLED';

export function childEnvironment(): NodeJS.ProcessEnv {
  const isGiven = (name: string): boolean =>
    environmentNames.has(process.platform === 'win32' ? name.toUpperCase() : name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isGiven(name)));
}
