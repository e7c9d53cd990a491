/** Loaded before a command: an older Node, which reads no TypeScript, would end in a stack trace. */

const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  console.error(
    `This is Node ${process.versions.node}. The Node of this project is missing, because install scripts were off: npm rebuild node --ignore-scripts=false`,
  );
  process.exit(1);
}
