// NestJS 12 is made of ES modules: hence `--experimental-vm-modules` in package.json, and `extensionsToTreatAsEsm`.
const parser = { syntax: 'typescript', decorators: true };

export default {
  testEnvironment: 'node',
  testTimeout: 30_000,
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', { jsc: { parser, target: 'es2022' }, module: { type: 'es6' } }] },
};
