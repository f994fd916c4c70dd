/** Makes the page of the figures, its plots and the table of sizes anew from bench/results: `npm run bench:page`. */
import { writePages } from './page/write-pages.ts';

await writePages();
