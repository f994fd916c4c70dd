/**
 * Runs a bundle with the code that V8 compiled for an earlier start; a build copies this module beside its bundles. The code is
 * stored beside the bundle if the folder is writable. V8 rejects code of another version of Node or of other flags; it is replaced.
 */
import { chmodSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

/** By then a server has run the functions of its start. Most commands end before. */
const startMs = 5000;

/** `name`: of the bundle in this folder. */
export function runBundle(name) {
  const filename = fileURLToPath(new URL(name, import.meta.url));
  const codeFile = `${filename}.code`;
  const cachedData = readIfThere(codeFile);
  // esbuild writes ASCII.
  const text = `(function (require, importPackage, module, exports, __filename) {${readFileSync(filename, 'latin1')}\n})`;
  const script = new Script(text, { filename, cachedData });
  if (script.cachedDataRejected !== false)
    setTimeout(() => store(script, filename, codeFile), startMs).unref();
  const module = { exports: {} };
  const importPackage = (name) => import(name);
  script.runInThisContext()(createRequire(filename), importPackage, module, module.exports, filename);
}

function readIfThere(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/** Written elsewhere first, so that no other start reads a part. */
function store(script, filename, codeFile) {
  const part = `${codeFile}-${process.pid}`;
  const code = script.createCachedData();
  try {
    writeFileSync(part, code);
    // The one who installs may be another user than the service; a server writes for its own user only.
    chmodSync(part, statSync(filename).mode & 0o644);
    renameSync(part, codeFile);
  } catch {
    // The folder is read-only, or the disk is full: the next start compiles again.
    rmSync(part, { force: true });
  }
}
