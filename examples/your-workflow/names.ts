export const taskQueue = 'your-workflow';
export const workflowId = (orderId: string): string => `your-workflow-order-${orderId}`;
