"""The harness: runs tasks × methods × seeds, keeps records, writes tables and pages."""
