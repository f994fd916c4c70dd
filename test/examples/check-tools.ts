/** Before the tests of examples: the languages are here. Says what to install. */
import { missingTool } from '../support/debian-tools.ts';

const tools = ['python3', 'go', 'java', 'javac', 'php', 'curl', 'openssl', 'gcc', 'make'] as const;
const missing = tools.map(missingTool).filter((what) => what !== null);
for (const what of missing) console.error(`test:examples: ${what}`);
if (missing.length > 0) process.exitCode = 1;
