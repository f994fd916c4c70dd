/** A server process with the tests' registry and a temporary data directory. */
import { SiteServer } from './site-server.ts';
import { lastFirst, temporaryDirectory, type Ending } from './temporary-store.ts';
import { testCredentials, writeTestRegistry } from './test-server.ts';

/** Prepares a site without starting it. `settings`: each `section.key=value`. */
export async function newTestSite(t: Ending, ...settings: readonly string[]): Promise<SiteServer> {
  const ending = lastFirst(t);
  const directory = temporaryDirectory(ending);
  const registry = `registry.file=${await writeTestRegistry(directory)}`;
  return new SiteServer(ending, directory, [registry, ...settings], [], testCredentials.all);
}

export async function startTestSite(t: Ending, ...settings: readonly string[]): Promise<SiteServer> {
  const site = await newTestSite(t, ...settings);
  await site.start();
  return site;
}
